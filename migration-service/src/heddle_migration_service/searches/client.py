"""Searches collections of a LAMB knowledge-base server over HTTP."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_knowledge.errors import (
    BackendError,
    BackendUnavailableError,
    CollectionNotFoundError,
)
from heddle_runtime.contract.frontend_payloads import written
from heddle_runtime.http.remote_json import (
    MisplacedServerError,
    RemoteError,
    RemoteUnavailableError,
    exchange,
)

CONFIGURATION_ERROR = "KB configuration error:"
KNOWLEDGE_BASES = "the knowledge-base server"
KNOWLEDGE_STORES = "the knowledge-store server"
NO_COLLECTION = f"{KNOWLEDGE_BASES} has no such collection (404)"
_MOST_RESULTS = 100  # of a server of knowledge stores
_LONGEST_ID = 256
_MAX_DIGITS = 9  # a number of int32
_MAX_SIMILARITY = 1e9
_ADDRESSES = {
    # From the best to the least helpful for a reader. Paths are those of the server, except those
    # of `_OF_LAMB`.
    "source_url": "",
    "permalink_page": "",
    "permalink_markdown": "",
    "permalink_original": "",
    "original_file_url": "original_url",
    "file_url": "",
    "markdown_file_url": "markdown_url",
    "images_folder_url": "images_folder",
}
_OF_LAMB = frozenset({"permalink_page", "permalink_markdown", "permalink_original"})
"""Paths of LAMB itself, which the page that shows a source completes, as in LAMB's prompts."""
_LAMBS_PATH = re.compile(
    r"/docs/(?!(?:.*/)?(?:\.|%2[eE]){1,2}(?:[/?#]|$))[^\s\\<>()\x00-\x1f\x7f]+"
)


@dataclass(frozen=True, slots=True)
class KnowledgeServer:
    """Where a knowledge-base server is, and what opens it."""

    url: str
    """Without a slash at the end."""
    token: str = field(repr=False)
    guarded: bool = False
    """Whether it is an organisation's, which may not name every address."""
    name: str = KNOWLEDGE_BASES
    """As messages call it."""
    token_setting: str = ""
    """Where its token is set, if messages shall name that."""


async def query_collection(
    http: httpx.AsyncClient,
    server: KnowledgeServer,
    collection: str,
    body: Mapping[str, Any],
    *,
    sections: bool,
) -> list[pb.Passage]:
    """Search one collection of a server.

    Args:
        http: Must not follow redirects: the token belongs to one origin.
        server: Whom to ask.
        collection: The server's own identifier of the collection.
        body: `query_text`, `top_k` and `threshold`.
        sections: Search with the plug-in that brings the sections around passages.

    Raises:
        KnowledgeError: The server refuses, does not answer, or has no such collection.
    """
    parameters = {"plugin_name": "parent_child_query"} if sections else None
    return await _query(http, server, collection, {**body, "plugin_params": {}}, parameters)


async def query_store(
    http: httpx.AsyncClient,
    server: KnowledgeServer,
    store: str,
    body: Mapping[str, Any],
    credentials: Mapping[str, str],
) -> list[pb.Passage]:
    """Search one knowledge store of a server, likewise.

    Args:
        http: As of `query_collection`.
        server: As of `query_collection`.
        store: Its identifier.
        body: `query_text`, `top_k` and `threshold`, which the server does not know.
        credentials: `api_key` and `api_endpoint` of the provider of embeddings. No message repeats
            them.

    Raises:
        KnowledgeError: As of `query_collection`.
    """
    request = {
        "query_text": body["query_text"],
        "top_k": min(body["top_k"], _MOST_RESULTS),
        "embedding_credentials": dict(credentials),
    }
    passages = await _query(http, server, store, request)
    least = body["threshold"]
    return [each for each in passages if each.similarity >= least] if least else passages


async def _query(
    http: httpx.AsyncClient,
    server: KnowledgeServer,
    collection: str,
    body: Mapping[str, Any],
    parameters: Mapping[str, str] | None = None,
) -> list[pb.Passage]:
    url = f"{server.url}/collections/{_segment(collection)}/query"
    headers = {"Authorization": f"Bearer {server.token}"} if server.token else {}
    request = http.build_request("POST", url, params=parameters, headers=headers, json=body)
    try:
        status, answer = await exchange(http, request, server.name)
    except MisplacedServerError as error:
        raise BackendError(f"{CONFIGURATION_ERROR} {error}") from None
    except RemoteUnavailableError as error:
        raise BackendUnavailableError(str(error)) from error
    except RemoteError as error:
        raise BackendError(str(error)) from error
    _refuse_failure(status, server)
    return list(_passages(_hits(answer, server.name), server.url))


def _segment(collection: str) -> str:
    """Return an identifier as one segment of a path, whatever it holds."""
    if collection in {"", ".", ".."} or len(collection) > _LONGEST_ID:
        raise BackendError(
            f"its identifier must have 1 to {_LONGEST_ID} characters, and not be dots"
        )
    return quote(collection, safe="", errors="replace")


def _refuse_failure(status: int, server: KnowledgeServer) -> None:
    if status < HTTPStatus.BAD_REQUEST:
        return
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        remedy = f"; correct {server.token_setting}" if server.token_setting else ""
        raise BackendError(
            f"{CONFIGURATION_ERROR} {server.name} refuses the token ({status}){remedy}"
        )
    if status == HTTPStatus.NOT_FOUND:
        raise CollectionNotFoundError(f"{server.name} has no such collection (404)")
    raise BackendError(f"{server.name} refuses the query ({status})")


def _hits(answer: bytes, server: str) -> list[Any]:
    try:
        body = json.loads(answer)
        if b"\\u" in answer:  # may escape half a character, which no Protobuf text can contain
            body = json.loads(written(body))
        hits = body.get("results", body.get("documents", []))  # older servers: `documents`
        if isinstance(hits, list):
            return hits
    except (ValueError, AttributeError, RecursionError):
        pass  # as for a list that is none
    raise BackendError(f"{server}'s answer cannot be read")


def _passages(hits: list[Any], url: str) -> Iterator[pb.Passage]:
    for hit in hits:
        if not isinstance(hit, Mapping):
            continue
        known = hit.get("metadata")
        metadata: Mapping[str, Any] = known if isinstance(known, Mapping) else {}
        text = hit.get("data", hit.get("text"))
        addresses = dict(_links(metadata, url))
        attributes = {name: link for key, link in addresses.items() if (name := _ADDRESSES[key])}
        for name in ("chunk_index", "page", "video_id"):
            if metadata.get(name) is not None:
                attributes[name] = str(metadata[name])
        # Servers of knowledge stores send `text` and `score`, and the title of the document.
        name = _first(metadata, "filename", "original_filename", "video_title", "source_title")
        document = _first(metadata, "document_id") or name
        index = _number(metadata.get("chunk_index"))
        numbered = "" if index is None else f"{document}:{index}"
        yield pb.Passage(
            id=_first(metadata, "chunk_id") or numbered,
            document_id=document,
            text=text if isinstance(text, str) else "",
            similarity=_similarity(hit.get("similarity", hit.get("score"))),
            document=name,
            title=name or ("Source" if "score" in hit else "Unknown"),
            uri=next(iter(addresses.values()), ""),
            page=_number(metadata.get("page")) or 0,
            ordinal=index,
            parent_text=_first(metadata, "parent_text"),
            attributes=attributes,
        )


def _number(value: object) -> int | None:
    """Return a number from 0 on, which some servers write as text; None if it is none."""
    text = str(value) if isinstance(value, int | str) else ""
    return int(text) if text.isdecimal() and len(text) <= _MAX_DIGITS else None


def _similarity(value: object) -> float:
    if isinstance(value, int | float) and abs(value) <= _MAX_SIMILARITY:
        return float(value)
    return 0.0


def _links(metadata: Mapping[str, Any], url: str) -> Iterator[tuple[str, str]]:
    """Yield what a person can open, the best first."""
    for key in _ADDRESSES:
        link = metadata.get(key)
        if not link or not isinstance(link, str):
            continue
        if link.startswith(("https://", "http://")):
            yield key, link
        elif key in _OF_LAMB:
            if _LAMBS_PATH.fullmatch(link):
                yield key, link
        elif key != "source_url":  # anything but http(s) there could be a `javascript:` link
            yield key, f"{url}/{link.lstrip('/')}"


def _first(metadata: Mapping[str, Any], *names: str) -> str:
    return next((str(metadata[name]) for name in names if metadata.get(name)), "")
