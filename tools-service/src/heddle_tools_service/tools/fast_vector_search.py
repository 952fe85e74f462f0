"""Finds passages of one collection, by meaning and words alike."""

import time
from typing import Any

from pydantic import Field

from heddle_tools_service.capabilities.passages import (
    FailedSearch,
    Passage,
    Passages,
    SearchOptions,
)
from heddle_tools_service.sdk import (
    Example,
    ToolCall,
    ToolError,
    ToolResult,
    ToolUnavailableError,
    tool,
)
from heddle_tools_service.tools.retrieved import (
    ASSET_MANUAL,
    ManualConfig,
    SearchText,
    passage_object,
    result,
    search_text,
)
from heddle_tools_service.tools.simple_rag import source_of

_MAX_RESULTS = 50
_BALANCED = SearchOptions(vector_weight=0.5)


class FastVectorSearchConfig(ManualConfig):
    """Where to look, and how much to bring."""

    limit: int = Field(
        default=5, ge=1, le=_MAX_RESULTS, description="Maximum results where it fills a slot"
    )


class FastVectorSearchArguments(SearchText):
    """What to look for, and where."""

    limit: int = Field(default=5, ge=1, le=_MAX_RESULTS, description="Maximum results")
    collection: str = Field(default=ASSET_MANUAL, description="The collection to search")


@tool(
    "fast_vector_search",
    title="Fast Vector Search",
    config=FastVectorSearchConfig,
    arguments=FastVectorSearchArguments,
    slot="context",
    category="rag",
    modes=("augment", "function", "agent"),
    examples=[
        Example("What is a retaining ring?", {"query": "retaining ring"}),
        Example("Define duty cycle", {"query": "definition of duty cycle", "limit": 3}),
        Example("Which voltage does the controller need?", {"query": "supply voltage controller"}),
        Example("How often is the filter replaced?", {"query": "filter replacement interval"}),
    ],
)
async def fast_vector_search(
    call: ToolCall[FastVectorSearchConfig, FastVectorSearchArguments], passages: Passages
) -> ToolResult:
    """Search a collection fast, best for definitions, specifications and simple facts."""
    started = time.perf_counter()
    query, collection = search_text(call), _collection(call)
    if not query:
        raise ToolError("No user message found for query")
    limit = call.arguments.limit if call.called else call.config.limit
    call.status("Embedding query...")
    call.status(f"Searching {collection}...")
    findings = await passages.search([collection], query, top_k=limit, options=_BALANCED)
    if findings.failures:
        raise failed(findings.failures[0])
    metadata = {
        "query": query,
        "count": len(findings.passages),
        "time_ms": round((time.perf_counter() - started) * 1000, 1),
    }
    content: dict[str, Any] = {
        "name": collection,
        "objects": [passage_object(each) for each in findings.passages],
        "metadata": metadata,
        "llm_message": f"Found {len(findings.passages)} text results for '{query}'",
    }
    return result(
        call,
        content,
        _text(findings.passages),
        [source_of(each) for each in findings.passages],
        objects=content["objects"],
        warnings=findings.warnings,
    )


def failed(failure: FailedSearch) -> ToolError:
    """Return how a search that found nothing out is told: whether to try again, and what else."""
    kind = ToolUnavailableError if failure.unavailable else ToolError
    suggestion = (
        "Try a different query or check service availability"
        if failure.unavailable
        else "Search another collection, or answer without"
    )
    details: dict[str, Any] = {"recoverable": failure.unavailable, "suggestion": suggestion}
    return kind(f"Search failed: {failure.message}", kind="search_failed", details=details)


def _collection(call: ToolCall[FastVectorSearchConfig, FastVectorSearchArguments]) -> str:
    """Return where to look: what the model names, if the assistant's author allows that."""
    allowed, named = call.config.collections, call.arguments.collection
    if named in allowed:
        return named
    # The default stands for the author's first, even where a model repeats it.
    if named == ASSET_MANUAL:
        return allowed[0]
    raise ToolError(
        f"The collection {named[:80]!r} may not be searched here. Choose among "
        f"{', '.join(map(repr, allowed))}.",
        kind="unknown_collection",
    )


def _text(passages: tuple[Passage, ...]) -> str:
    return "\n\n".join(passage.text for passage in passages)
