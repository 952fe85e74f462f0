"""Looks through documents, by time if that is asked for, and cites each passage."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from heddle_tools_service.capabilities.passages import NO_OPTIONS, Passage, Passages, SearchOptions
from heddle_tools_service.sdk import Example, Query, ToolCall, ToolResult, tool
from heddle_tools_service.tools.retrieval import (
    KnowledgeBaseConfig,
    any_chosen,
    check,
    look_up,
    searchable_documents_exist,
)
from heddle_tools_service.tools.retrieved import passage_object
from heddle_tools_service.tools.simple_rag import rag_result

_MAX_PREVIEW_CHARS = 200
_UNTITLED = "Untitled"
# Some models write an empty text for what they leave out.
Day = Annotated[date | None, BeforeValidator(lambda value: value or None)]


class RetrieveDocumentsArguments(Query):
    """The question to search for, and the dates of the documents."""

    query: str = Field(
        min_length=1,
        max_length=10_000,
        description="The search query to find relevant document chunks.",
    )
    date_from: Day = Field(default=None, description="Optional start date filter (YYYY-MM-DD).")
    date_to: Day = Field(
        default=None, description="Optional end date filter (YYYY-MM-DD), this day included."
    )
    recency_weight: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Weight 0-1 for recency bias. 0 = pure similarity.",
    )


@tool(
    "retrieve_documents",
    title="Retrieve Documents",
    label="Documents by date",
    category="rag",
    modes=("augment", "function", "agent"),
    examples=[
        Example("What do my notes say about looms?", {"query": "looms"}),
        Example(
            "What was decided in May 2025?",
            {"query": "decisions", "date_from": "2025-05-01", "date_to": "2025-05-31"},
        ),
        Example("What is the latest on the grant?", {"query": "grant", "recency_weight": 0.5}),
    ],
    enabled=any_chosen,
    available=searchable_documents_exist,
)
async def retrieve_documents(
    call: ToolCall[KnowledgeBaseConfig, RetrieveDocumentsArguments | None], passages: Passages
) -> ToolResult:
    """Search the user's uploaded documents for information relevant to their query."""
    check(call)
    results = await look_up(call, passages, call.query, options=options_of(call.arguments))
    formatted = format_passages(results.passages)
    result = rag_result(call, call.query, results, [formatted])
    if not call.called:
        return result
    answer = {
        "formatted_text": result.text,
        "citation_sources": [citation(each) for each in results.passages],
    }
    return ToolResult.json(
        answer,
        sources=result.sources,
        metadata=result.metadata,
        warnings=result.warnings,
        objects=[passage_object(each) for each in results.passages],
        name=", ".join(call.config.collections),
        message=f"Found {len(results.passages)} passages for '{call.query}'",
        count=result.count,
    )


def options_of(arguments: RetrieveDocumentsArguments | None) -> SearchOptions:
    """Return the search options of a call: dates and weight of recency, if it has them."""
    if arguments is None:
        return NO_OPTIONS
    return SearchOptions(
        time_from=_midnight(arguments.date_from) if arguments.date_from else None,
        # Documents of the last day count; the store's end is exclusive.
        time_to=_midnight(arguments.date_to + timedelta(days=1)) if arguments.date_to else None,
        recency_weight=arguments.recency_weight or 0.0,
    )


def format_passages(passages: Sequence[Passage]) -> str:
    """Return passages as a model reads them, each under the number by which it can cite it."""
    return "\n\n".join(
        f"[{number}] {each.title or _UNTITLED}{_place(each)}\n{each.text}"
        for number, each in enumerate(passages, 1)
    )


def citation(passage: Passage) -> dict[str, Any]:
    """Return the citation of a passage, for a model's answer."""
    preview = passage.text[:_MAX_PREVIEW_CHARS]
    return {
        "chunk_id": passage.chunk_id,
        "document_id": passage.document_id,
        "doc_title": passage.title or _UNTITLED,
        "chunk_index": passage.chunk_index or 0,
        "content_preview": preview if preview == passage.text else f"{preview}...",
        # 0.0 is a rank, too.
        "score": passage.score if passage.relevance is None else passage.relevance,
    }


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _place(passage: Passage) -> str:
    return f", page {passage.page}" if passage.page else ""
