"""`/collections`: collections in the form of LAMB's own knowledge-base server.

LAMB reaches Heddle with one key, keeps in its registry whose collection is whose, and knows users
by numbers. Their numbers and what LAMB says of a collection stand in its metadata; to Heddle it
belongs to whom the key belongs.
"""

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle.knowledge.v1.files_pb2 import DeleteFileRequest
from heddle_runtime.errors import NotFoundError

from heddle_gateway.http import query_parameters, validation
from heddle_gateway.http.body import read_object
from heddle_gateway.http.json_text import Place
from heddle_gateway.http.raw import RawRequest, RawResponse
from heddle_gateway.openai.files import TIMEOUT
from heddle_gateway.openai.vector_stores import attached, collections, named
from heddle_gateway.services import ask

if TYPE_CHECKING:
    from heddle_gateway.state import State

QUERY_PLUGINS = ("simple_query", "parent_child_query")
_MOST_PASSAGES = 100
_LONGEST_NAME = 255
_NOTED = ("owner", "description", "visibility")
_VISIBILITIES = ("private", "public")


async def create(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `POST /collections`."""
    given, place = await read_object(state, exchange)
    title = _name(given.get("name"), place)
    noted = {name: _text(given.get(name), place, name) for name in _NOTED}
    asked = pb.Collection(
        title=title,
        metadata=_notes(noted),
        language=_text(given.get("language"), place, "language"),
    )
    return RawResponse.json(view(await named(state, asked, title)), 201)


async def listing(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `GET /collections`."""
    owner = query_parameters.text(exchange, "owner")
    visibility = query_parameters.choice(exchange, "visibility", _VISIBILITIES)
    skip = query_parameters.whole(exchange, "skip", 0, low=0, high=10**9)
    limit = query_parameters.whole(exchange, "limit", 100, low=1, high=1_000)
    every_one = [view(each) for each in await collections(state)]
    found = [
        each
        for each in every_one
        if owner in ("", each["owner"]) and visibility in ("", each["visibility"])
    ]
    return RawResponse.json({"total": len(found), "items": found[skip : skip + limit]})


async def get(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `GET /collections/{id}`."""
    return RawResponse.json(view(await collection(state, exchange)))


async def update(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `PATCH /collections/{id}`."""
    given, place = await read_object(state, exchange)
    found = await collection(state, exchange)
    language = _text(given.get("language"), place, "language")
    request = pb.UpdateCollectionRequest(name=found.id, language=language)
    if given.get("name") is not None:
        request.title = _name(given["name"], place)
    changed = {
        name: _text(given[name], place, name) for name in _NOTED if given.get(name) is not None
    }
    request.metadata.SetInParent()
    request.metadata.entries.update({**found.metadata, **_notes(changed)})
    kept = await ask(state.services.knowledge.UpdateCollection, request, TIMEOUT)
    return RawResponse.json(view(kept.collection))


async def delete(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `DELETE /collections/{id}`."""
    found = await collection(state, exchange)
    files = await attached(state, found.id)
    request = pb.DeleteCollectionRequest(name=found.id)
    await ask(state.services.knowledge.DeleteCollection, request, TIMEOUT)
    for each in files:
        await forget(state, each.file_id)
    return RawResponse.json({"id": found.id, "name": found.title or found.name, "deleted": True})


async def query(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `POST /collections/{id}/query`."""
    started = time.perf_counter()
    given, place = await read_object(state, exchange)
    plugin = exchange.query("plugin_name") or QUERY_PLUGINS[0]
    if plugin not in QUERY_PLUGINS:
        known = " and ".join(QUERY_PLUGINS)
        raise NotFoundError(f"There is no query plugin {plugin[:80]!r}, only {known}.")
    parameters = given.get("plugin_params")
    own = {} if parameters is None else validation.mapping(parameters, place, "plugin_params")
    most, at_most = _parameter("top_k", 5, given, own, place)
    least, at_least = _parameter("threshold", 0.0, given, own, place)
    request = pb.SearchCollectionRequest(
        collection=exchange.parameter,
        query=validation.text(given.get("query_text"), place, "query_text", empty=False),
        top_k=validation.whole(most, at_most, low=1, high=_MOST_PASSAGES),
        threshold=validation.number(least, at_least, low=-1, high=1),
    )
    found = await ask(state.services.knowledge.SearchCollection, request, TIMEOUT)
    results = [_result(each, sections=plugin != QUERY_PLUGINS[0]) for each in found.passages]
    seconds = time.perf_counter() - started
    told = {
        "results": results,
        "count": len(results),
        "timing": {"total_seconds": seconds, "total_ms": seconds * 1_000},
        "query": request.query,
    }
    return RawResponse.json(told)


async def collection(state: "State", exchange: RawRequest) -> pb.Collection:
    """Return the collection that a path names.

    Raises:
        HeddleError: It cannot be had.
    """
    request = pb.GetCollectionRequest(name=exchange.parameter)
    return (await ask(state.services.knowledge.GetCollection, request, TIMEOUT)).collection


async def forget(state: "State", file: str) -> None:
    """Delete an uploaded file of the caller's that is in no collection: LAMB knows none.

    Raises:
        HeddleError: It cannot be deleted.
    """
    with suppress(NotFoundError):
        request = DeleteFileRequest(id=file, unless_attached=True)
        await ask(state.services.files.DeleteFile, request, TIMEOUT)


def view(found: pb.Collection) -> dict[str, Any]:
    """Return a collection as LAMB knows it; its identifier is a text, and no number."""
    noted = found.metadata
    return {
        "id": found.id,
        "name": found.title or found.name,
        "description": noted.get("lamb_description", ""),
        "visibility": noted.get("lamb_visibility", "private"),
        "owner": noted.get("lamb_owner", found.owner),
        "language": found.language,
        "creation_date": found.create_time.ToJsonString(),
        "embeddings_model": {
            "model": found.embedding_model,
            "vendor": "heddle",
            "api_endpoint": None,
            "apikey_configured": False,
        },
    }


def _parameter(
    name: str, default: float, given: dict[str, Any], own: dict[str, Any], place: Place
) -> tuple[object, Place]:
    """Return a parameter of a query and its place: the plugin's own comes first."""
    if name in own:
        return own[name], place.at("plugin_params", name)
    return given.get(name, default), place.at(name)


def _result(passage: pb.Passage, *, sections: bool) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        **passage.metadata,
        "filename": passage.title or passage.document,
        "original_filename": passage.document,
        "chunk_index": passage.ordinal,
        "chunk_id": passage.id,
        "document_id": passage.document_id,
    }
    if passage.page:
        metadata["page"] = passage.page
    if passage.uri:
        metadata["source_url"] = passage.uri
    if sections:
        metadata["parent_text"] = passage.parent_text
    return {"similarity": passage.similarity, "data": passage.text, "metadata": metadata}


def _notes(said: dict[str, str]) -> dict[str, str]:
    return {f"lamb_{name}": text for name, text in said.items() if text}


def _name(given: object, place: Place) -> str:
    name = validation.text(given, place, "name", empty=False)
    if len(name) > _LONGEST_NAME:
        raise place.at("name").wrong(f"must have at most {_LONGEST_NAME} characters")
    return name


def _text(given: object, place: Place, name: str) -> str:
    text = "" if given is None else validation.text(given, place, name)
    if name == "visibility" and text:
        return validation.choice(text, place, name, among=_VISIBILITIES)
    return text
