"""What retrieval tools tell models of passages and pages, and how they join them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import Field

from heddle_tools_service.capabilities.pages import PageMatch
from heddle_tools_service.capabilities.passages import Passage
from heddle_tools_service.sdk import Source, ToolArguments, ToolCall, ToolConfig, ToolResult

ASSET_MANUAL = "AssetManual"
_MAX_COLLECTIONS = 64
_MAX_EXCERPT_CHARS = 1_000


class ManualConfig(ToolConfig):
    """Where to look."""

    collections: tuple[str, ...] = Field(
        default=(ASSET_MANUAL,),
        min_length=1,
        max_length=_MAX_COLLECTIONS,
        description="Collections that may be searched, the one for calls that name none first",
    )


class SearchText(ToolArguments):
    """What to look for; nothing means what the user asked."""

    query: str = Field(
        default="",
        max_length=10_000,
        description="Search query text. Without it, what the user asked.",
    )


def search_text(call: ToolCall[Any, Any]) -> str:
    """Return what to look for: what the model says, else what the user asked."""
    arguments: SearchText = call.arguments
    return arguments.query.strip() or call.query.strip()


def result(
    call: ToolCall[Any, Any],
    content: Mapping[str, Any],
    text: str,
    sources: Sequence[Source],
    *,
    objects: Sequence[Mapping[str, Any]],
    warnings: Sequence[str] = (),
) -> ToolResult:
    """Return what was found, for a slot, for a model and for the routing agent.

    Args:
        call: Says which of them asks.
        content: What models read: `name`, `metadata`, `llm_message`, and what was found.
        text: What fills a slot.
        sources: What it rests on.
        objects: What was found, piece by piece, for the agent.
        warnings: What failed while the rest succeeded.
    """
    return ToolResult(
        json.dumps(content, ensure_ascii=False) if call.called else text,
        sources,
        content["metadata"],
        warnings,
        objects=objects,
        name=content["name"],
        message=content["llm_message"],
    )


def distinct(passages: Iterable[Passage]) -> list[Passage]:
    """Return passages without those that say what an earlier one says."""
    unique: dict[object, Passage] = {}
    for passage in passages:
        unique.setdefault(" ".join(passage.text.split()), passage)
    return list(unique.values())


def passage_object(passage: Passage) -> dict[str, Any]:
    """Return a passage as models read it, without what is not known."""
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


def page_source(page: PageMatch) -> Source:
    """Return what a page is for clients; its link opens the picture of it, if there is one."""
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
        page.text[:_MAX_EXCERPT_CHARS],
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
