"""Searches passages and pages at once, and merges results from the same page."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic import Field

from heddle_tools_service.capabilities.pages import PageMatch, PageMatches, Pages
from heddle_tools_service.capabilities.passages import (
    FailedSearch,
    Passage,
    PassageResults,
    Passages,
)
from heddle_tools_service.sdk import (
    Example,
    ToolCall,
    ToolError,
    ToolResult,
    ToolUnavailableError,
    tool,
)
from heddle_tools_service.tools.combined_rankings import in_turn
from heddle_tools_service.tools.pages_seen import PAGE_KIND
from heddle_tools_service.tools.retrieval import (
    BALANCED,
    ManualPassagesConfig,
    SearchText,
    search_failed,
    search_text,
    searchable,
    spoken,
)
from heddle_tools_service.tools.retrieved import (
    distinct,
    empty_search_text,
    milliseconds_since,
    page_object,
    page_source,
    passage_object,
    passage_source,
    result,
    searched_places,
)

_MAX_RESULTS = 20
_DEFAULT_TEXTS = 3


class HybridSearchArguments(SearchText):
    """The text to search for, and the number of results of each kind."""

    text_limit: int = Field(
        default=_DEFAULT_TEXTS, ge=1, le=_MAX_RESULTS, description="Maximum text results"
    )
    visual_limit: int = Field(default=2, ge=0, le=_MAX_RESULTS, description="Maximum pages")


async def _available(
    call: ToolCall[ManualPassagesConfig, HybridSearchArguments], passages: Passages, pages: Pages
) -> bool:
    try:
        options = replace(BALANCED, reranking=call.config.reranking)
        return await searchable(call, passages, top_k=_DEFAULT_TEXTS, options=options)
    except ToolUnavailableError:
        if (await _search_pages(call, pages, call.query, 1)).pages:
            return True
        raise


@tool(
    "hybrid_search",
    title="Search words and meaning",
    category="rag",
    modes=("augment", "function", "agent"),
    available=_available,
    examples=[
        Example("Which options does the setup menu have?", {"query": "setup menu options"}),
        Example("List the error codes of the drive", {"query": "error codes", "text_limit": 5}),
        Example("Compare the two pump models", {"query": "pump models comparison"}),
        Example("Why does the motor stop after a while?", {"query": "motor stops overheating"}),
    ],
)
async def hybrid_search(
    call: ToolCall[ManualPassagesConfig, HybridSearchArguments], passages: Passages, pages: Pages
) -> ToolResult:
    """Search text and pages at once, best for tables, menus and questions that are not simple."""
    started = time.perf_counter()
    query = search_text(call)
    call.status(f"Searching {spoken(call.config.collections)}...")
    text_results, page_results = await asyncio.gather(
        _search_passages(call, passages, query),
        _search_pages(call, pages, query, call.arguments.visual_limit),
    )
    failures = [*text_results.failures, *page_results.failures]
    if failures and not text_results.passages and not page_results.pages:
        raise search_failed(failures[0])
    best = distinct(in_turn(text_results.passages))[: call.arguments.text_limit]
    rest, visual = merged(best, page_results.pages)
    metadata = {
        "query": query,
        "text_count": len(rest),
        "visual_count": len(visual),
        "time_ms": milliseconds_since(started),
        "model": page_results.model,
        "visual": page_results.visual,
    }
    warnings = [*(failure.message for failure in failures), *text_results.warnings]
    answer: dict[str, Any] = {
        "name": "hybrid_search",
        "text_results": [passage_object(each) for each in rest],
        "visual_results": visual,
        "metadata": metadata,
        "warnings": warnings,
        "llm_message": f"Found {len(rest)} text results and {len(visual)} pages for '{query}'",
    }
    page_texts = (page.get("passage", page["text"]) for page in visual)
    text = "\n\n".join([*(each.text for each in rest), *page_texts])
    places = searched_places(call.config.collections, failures)
    return result(
        call,
        answer,
        text or empty_search_text("passages and pages", query, places),
        [*map(passage_source, rest), *map(page_source, page_results.pages)],
        count=len(rest) + len(visual),
        objects=[*answer["text_results"], *({**page, "kind": PAGE_KIND} for page in visual)],
        warnings=warnings,
    )


def merged(
    passages: Sequence[Passage], pages: Sequence[PageMatch]
) -> tuple[list[Passage], list[dict[str, Any]]]:
    """Merge passages and pages: a passage becomes part of its page if that was found, too.

    Returns:
        The passages of other pages, and the pages as models read them.
    """
    visual = {(page.document_id, page.page): page_object(page) for page in pages}
    rest = []
    for passage in passages:
        page = visual.get((passage.document_id, passage.page))
        if page is None:
            rest.append(passage)
        else:
            page["passage"] = "\n\n".join(filter(None, (page.get("passage"), passage.text)))
    return rest, list(visual.values())


async def _search_passages(
    call: ToolCall[ManualPassagesConfig, HybridSearchArguments], passages: Passages, query: str
) -> PassageResults:
    try:
        return await passages.search(
            call.config.collections,
            query,
            top_k=call.arguments.text_limit,
            options=replace(BALANCED, reranking=call.config.reranking),
        )
    except ToolError as error:
        return PassageResults(failures=(FailedSearch("", f"The text was not searched: {error}"),))


async def _search_pages(
    call: ToolCall[ManualPassagesConfig, HybridSearchArguments],
    pages: Pages,
    query: str,
    most: int,
) -> PageMatches:
    if not most:
        return PageMatches()
    try:
        return await pages.search(call.config.collections, query, top_k=most)
    except ToolError as error:
        return PageMatches(failures=(FailedSearch("", f"The pages were not searched: {error}"),))
