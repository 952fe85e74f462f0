"""Looks the question up in knowledge bases, and the parts that its two relatives share with it."""

from collections.abc import Iterable

from pydantic import Field

from heddle_tools_service.sdk import (
    Findings,
    Passage,
    Source,
    ToolCall,
    ToolConfig,
    ToolError,
    ToolResult,
    ToolUnavailableError,
    tool,
)

_MOST_COLLECTIONS = 64
_LONGEST_EXCERPT = 1_000


class KnowledgeBaseConfig(ToolConfig):
    """Where to look, and how much to bring."""

    collections: tuple[str, ...] = Field(
        max_length=_MOST_COLLECTIONS,
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
async def simple_rag(call: ToolCall[KnowledgeBaseConfig]) -> ToolResult:
    """Retrieves relevant context from knowledge base collections."""
    check(call)
    findings = await look_up(call, call.query)
    return told(call, findings, (passage.text for passage in findings.passages))


def check(call: ToolCall[KnowledgeBaseConfig]) -> None:
    """Refuse to search for nothing, or nowhere."""
    if not any(call.config.collections):
        raise ToolError("No collections configured")
    if not call.query.strip():
        raise ToolError("No user message found for query")


async def look_up(
    call: ToolCall[KnowledgeBaseConfig], query: str, *, sections: bool = False
) -> Findings:
    """Search the configured collections at once.

    Raises:
        ToolError: Every one of them failed; the message is the first one's.
    """
    # An id that is named twice would only repeat its passages.
    collections = tuple(dict.fromkeys(filter(None, call.config.collections)))
    for collection in collections:
        call.status(f"querying knowledge base {collection}")
    findings = await call.knowledge.search(
        collections,
        query,
        top_k=call.config.top_k,
        threshold=call.config.threshold,
        sections=sections,
    )
    if len(findings.failures) == len(collections):
        first = findings.failures[0]
        raise (ToolUnavailableError if first.unavailable else ToolError)(first.message)
    return findings


def told(
    call: ToolCall[KnowledgeBaseConfig],
    findings: Findings,
    texts: Iterable[str],
    **more: bool,
) -> ToolResult:
    """Return what was found as a result."""
    return ToolResult(
        "\n\n".join(filter(None, texts)),
        [_source(passage) for passage in findings.passages],
        {
            "collections_queried": len(set(call.config.collections)),
            "documents_retrieved": len(findings.passages),
            **more,
        },
        [failure.message for failure in findings.failures],
    )


def _source(passage: Passage) -> Source:
    return Source(
        passage.title,
        passage.uri,
        passage.text[:_LONGEST_EXCERPT],
        passage.score,
        "passage",
        passage.attributes,
    )
