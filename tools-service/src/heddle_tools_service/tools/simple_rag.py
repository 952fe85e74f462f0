"""Looks the question up in knowledge bases, and the parts that its two relatives share with it."""

from collections.abc import Collection, Iterable
from typing import Any

from pydantic import Field

from heddle_tools_service.capabilities.passages import (
    NO_OPTIONS,
    Passage,
    PassageResults,
    Passages,
    SearchOptions,
)
from heddle_tools_service.sdk import (
    Source,
    ToolCall,
    ToolConfig,
    ToolError,
    ToolResult,
    ToolUnavailableError,
    tool,
)
from heddle_tools_service.tools.chosen_collections import chosen, required

_MAX_COLLECTIONS = 64
_MAX_EXCERPT_CHARS = 1_000


class KnowledgeBaseConfig(ToolConfig):
    """Where to look, and how much to bring."""

    collections: tuple[str, ...] = Field(
        max_length=_MAX_COLLECTIONS,
        description="List of collection IDs to query",
        examples=[["kb-1"]],
    )
    top_k: int = Field(
        default=3, ge=1, le=20, description="Number of results to retrieve from each collection"
    )
    threshold: float = Field(
        default=0.0, ge=0.0, le=1.0, description="Similarity threshold; 0 lets everything pass"
    )


@tool(
    "simple_rag",
    title="Knowledge Base RAG",
    config=KnowledgeBaseConfig,
    slot="context",
    category="rag",
    modes=("augment", "function"),
)
async def simple_rag(call: ToolCall[KnowledgeBaseConfig], passages: Passages) -> ToolResult:
    """Retrieves relevant context from knowledge base collections."""
    check(call)
    findings = await look_up(call, passages, call.query)
    return rag_result(call, findings, (passage.text for passage in findings.passages))


def check(call: ToolCall[Any, Any]) -> None:
    """Refuse to search for nothing, or nowhere."""
    required(call.config)
    if not call.query.strip():
        raise ToolError("No user message found for query")


async def look_up(
    call: ToolCall[KnowledgeBaseConfig],
    passages: Passages,
    query: str,
    *,
    sections: bool = False,
    options: SearchOptions = NO_OPTIONS,
) -> PassageResults:
    """Search the configured collections at once.

    Raises:
        ToolError: Every one of them failed; the message is the first one's.
    """
    # An id that is named twice would only repeat its passages.
    collections = chosen(call.config)
    for collection in collections:
        call.status(f"querying knowledge base {collection}")
    findings = await passages.search(
        collections,
        query,
        top_k=call.config.top_k,
        threshold=call.config.threshold,
        sections=sections,
        options=options,
    )
    refuse_failure(findings, collections)
    return findings


def refuse_failure(findings: PassageResults, collections: Collection[str]) -> None:
    """Raise what all of the `collections` failed with, the first one's; else nothing."""
    if len(findings.failures) == len(collections):
        first = findings.failures[0]
        raise (ToolUnavailableError if first.unavailable else ToolError)(first.message)


def rag_result(
    call: ToolCall[KnowledgeBaseConfig],
    findings: PassageResults,
    texts: Iterable[str],
    **more: bool,
) -> ToolResult:
    """Return what was found as a result."""
    return ToolResult(
        "\n\n".join(filter(None, texts)),
        [source_of(passage) for passage in findings.passages],
        {
            "collections_queried": len(set(call.config.collections)),
            "documents_retrieved": len(findings.passages),
            **more,
        },
        [*(failure.message for failure in findings.failures), *findings.warnings],
    )


def source_of(passage: Passage) -> Source:
    """Return what a passage is for clients."""
    return Source(
        passage.title,
        passage.uri,
        passage.text[:_MAX_EXCERPT_CHARS],
        passage.score,
        "passage",
        passage.attributes,
    )
