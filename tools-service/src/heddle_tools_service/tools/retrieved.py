"""Converts passages and pages for models, clients and the routing agent."""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from heddle_tools_service.capabilities.pages import PageMatch
from heddle_tools_service.capabilities.passages import FailedSearch, Passage
from heddle_tools_service.sdk import Source, ToolCall, ToolResult

MAX_EXCERPT_CHARS = 1_000
_MAX_QUERY_CHARS = 200


def result(
    call: ToolCall[Any, Any],
    content: Mapping[str, Any],
    text: str,
    sources: Sequence[Source],
    *,
    count: int | None = None,
    objects: Sequence[Mapping[str, Any]] | None = None,
    warnings: Sequence[str] = (),
) -> ToolResult:
    """Return the result of a search for a slot, a model or the routing agent.

    Args:
        call: The call of the tool.
        content: What models read: `name`, `metadata`, `llm_message`, and the results.
        text: The text for a slot.
        sources: The sources of the result.
        count: How many items a search found.
        objects: What the routing agent reads. None for `content["objects"]`.
        warnings: Parts that failed.
    """
    return ToolResult(
        json.dumps(content, ensure_ascii=False) if call.called else text,
        sources,
        content["metadata"],
        warnings,
        objects=content["objects"] if objects is None else objects,
        name=content["name"],
        message=content["llm_message"],
        count=count,
    )


def empty_search_text(items: str, query: str, places: Iterable[str]) -> str:
    """Return the sentence that fills the slot of a search without results.

    Args:
        items: What was searched for, for example `passages`.
        query: The query.
        places: The places that were searched, for example names of collections.
    """
    searched = ", ".join(dict.fromkeys(places))
    shown = query if len(query) <= _MAX_QUERY_CHARS else f"{query[:_MAX_QUERY_CHARS]}…"
    return f'A search of {searched} for "{shown}" found no {items}.'


def searched_places(collections: Iterable[str], failures: Iterable[FailedSearch]) -> Sequence[str]:
    """Return the collections whose search did not fail; all if it is not known which failed."""
    failed = {failure.collection for failure in failures}
    names = list(collections)
    return [name for name in names if name not in failed] or names


def milliseconds_since(started: float) -> float:
    """Return the time since `started`, a value of `time.perf_counter`."""
    return round((time.perf_counter() - started) * 1000, 1)


def distinct(passages: Iterable[Passage]) -> list[Passage]:
    """Return passages without those that have the text of an earlier one."""
    unique: dict[object, Passage] = {}
    for passage in passages:
        unique.setdefault(" ".join(passage.text.split()), passage)
    return list(unique.values())


def passage_object(passage: Passage) -> dict[str, Any]:
    """Return a passage as models read it, without unknown members."""
    members = {
        "text": passage.text,
        "title": passage.title,
        "document": passage.document,
        "document_id": passage.document_id,
        "chunk_id": passage.chunk_id,
        "page": passage.page,
        "uri": passage.uri,
        "preview_url": passage.picture_uri,
    }
    known = {name: value for name, value in members.items() if value}
    if passage.chunk_index is not None:
        known["chunk_index"] = passage.chunk_index
    return {**known, "score": passage.score}


def page_object(page: PageMatch) -> dict[str, Any]:
    """Return a page as models read it."""
    return {
        "page": page.page,
        "score": page.score,
        "preview_url": page.picture_uri,
        "title": page.title,
        "document": page.document,
        "document_id": page.document_id,
        "collection": page.collection,
        "text": page.text,
    }


def passage_source(passage: Passage) -> Source:
    """Return a passage as clients read it."""
    picture = {"picture_uri": passage.picture_uri} if passage.picture_uri else {}
    return Source(
        passage.title,
        passage.uri,
        passage.text[:MAX_EXCERPT_CHARS],
        passage.score,
        "passage",
        passage.attributes | picture,
    )


def page_source(page: PageMatch) -> Source:
    """Return a page as clients read it; its link opens the document or the image of the page."""
    attributes = {
        "collection": page.collection,
        "document": page.document,
        "document_id": page.document_id,
        "page": str(page.page),
        "picture_uri": page.picture_uri,
    }
    return Source(
        page.title,
        page.uri or page.picture_uri,
        page.text[:MAX_EXCERPT_CHARS],
        page.score,
        "page",
        {name: value for name, value in attributes.items() if value},
    )


def as_passage(page: PageMatch) -> Passage:
    """Return a page as a passage, to rank it among others."""
    return Passage(
        page.text,
        page.title,
        page.uri or page.picture_uri,
        page.score,
        document=page.document,
        document_id=page.document_id,
        chunk_id=f"{page.document_id}#page={page.page}",
        page=page.page,
        relevance=page.score,
        picture_uri=page.picture_uri,
        attributes={"collection": page.collection, "document": page.document},
    )
