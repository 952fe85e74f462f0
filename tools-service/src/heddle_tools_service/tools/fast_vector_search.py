"""Finds passages of one collection, by meaning and words alike."""

import time
from dataclasses import replace
from typing import Any

from pydantic import Field

from heddle_tools_service.capabilities.passages import Passages
from heddle_tools_service.sdk import Example, ToolCall, ToolError, ToolResult, tool
from heddle_tools_service.tools.retrieval import (
    ASSET_MANUAL,
    BALANCED,
    ManualPassagesConfig,
    SearchText,
    search_failed,
    search_text,
    searchable,
    spoken,
)
from heddle_tools_service.tools.retrieved import (
    empty_search_text,
    milliseconds_since,
    passage_object,
    passage_source,
    result,
)

_MAX_RESULTS = 50
_DEFAULT_RESULTS = 5


class FastVectorSearchConfig(ManualPassagesConfig):
    """The collections to search, and the number of results."""

    limit: int = Field(
        title="Results",
        default=_DEFAULT_RESULTS,
        ge=1,
        le=_MAX_RESULTS,
        description="Maximum results where it fills a slot",
    )


class FastVectorSearchArguments(SearchText):
    """The text and the collection to search for it, and the number of results."""

    limit: int = Field(
        default=_DEFAULT_RESULTS, ge=1, le=_MAX_RESULTS, description="Maximum results"
    )
    collection: str = Field(default=ASSET_MANUAL, description="The collection to search")


async def _available(
    call: ToolCall[FastVectorSearchConfig, FastVectorSearchArguments], passages: Passages
) -> bool:
    options = replace(BALANCED, reranking=call.config.reranking)
    return await searchable(call, passages, top_k=_DEFAULT_RESULTS, options=options)


@tool(
    "fast_vector_search",
    title="Search by meaning",
    label="Fast search",
    category="rag",
    modes=("augment", "function", "agent"),
    available=_available,
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
    limit = call.arguments.limit if call.called else call.config.limit
    call.status("Embedding query...")
    call.status(f"Searching {spoken([collection])}...")
    options = replace(BALANCED, reranking=call.config.reranking)
    results = await passages.search([collection], query, top_k=limit, options=options)
    if results.failures:
        raise search_failed(results.failures[0])
    content: dict[str, Any] = {
        "name": collection,
        "objects": [passage_object(each) for each in results.passages],
        "metadata": {
            "query": query,
            "count": len(results.passages),
            "time_ms": milliseconds_since(started),
        },
        "llm_message": f"Found {len(results.passages)} text results for '{query}'",
    }
    text = "\n\n".join(passage.text for passage in results.passages)
    return result(
        call,
        content,
        text or empty_search_text("passages", query, [collection]),
        [passage_source(each) for each in results.passages],
        count=len(results.passages),
        warnings=results.warnings,
    )


def _collection(call: ToolCall[FastVectorSearchConfig, FastVectorSearchArguments]) -> str:
    """Return the collection that the model names, if the assistant's author allows it."""
    allowed, name = call.config.collections, call.arguments.collection
    if name in allowed:
        return name
    # The default stands for the author's first collection, also if a model repeats it.
    if name == ASSET_MANUAL:
        return allowed[0]
    raise ToolError(
        f"The collection {name[:80]!r} may not be searched here. Choose among "
        f"{', '.join(map(repr, allowed))}.",
        kind="unknown_collection",
    )
