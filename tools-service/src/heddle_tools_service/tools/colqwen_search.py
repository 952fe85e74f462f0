"""Finds pages by late interaction over all their text."""

import time
from typing import Any

from pydantic import Field

from heddle_tools_service.capabilities.pages import PageMatch, Pages
from heddle_tools_service.sdk import Example, ToolCall, ToolResult, tool
from heddle_tools_service.tools.pages_seen import PAGE_KIND
from heddle_tools_service.tools.retrieval import (
    ManualConfig,
    SearchText,
    search_failed,
    search_text,
    spoken,
)
from heddle_tools_service.tools.retrieved import (
    empty_search_text,
    milliseconds_since,
    page_object,
    page_source,
    result,
    searched_places,
)

_MAX_RESULTS = 20


class ColqwenSearchConfig(ManualConfig):
    """The collections to search, and the least score of a page."""

    threshold: float = Field(
        title="Least score",
        default=0.0,
        ge=0.0,
        le=1.0,
        description="The least score of a page; 0.5 leaves out most pages that do not answer",
    )


class ColqwenSearchArguments(SearchText):
    """The text to search for, and the number of pages."""

    top_k: int = Field(default=3, ge=1, le=_MAX_RESULTS, description="Maximum pages")


@tool(
    "colqwen_search",
    title="Page Search",
    label="Pages",
    category="rag",
    modes=("augment", "function", "agent"),
    examples=[
        Example("Show me the wiring diagram of the pump", {"query": "wiring diagram pump"}),
        Example("What does the control panel look like?", {"query": "control panel"}),
        Example("Which figure shows the gearbox?", {"query": "figure of the gearbox"}),
        Example("Is there a drawing of the frame?", {"query": "frame drawing", "top_k": 5}),
    ],
)
async def colqwen_search(
    call: ToolCall[ColqwenSearchConfig, ColqwenSearchArguments], pages: Pages
) -> ToolResult:
    """Search pages with figures, best for diagrams, drawings, tables and screenshots."""
    started = time.perf_counter()
    query = search_text(call)
    call.status(f"Searching pages of {spoken(call.config.collections)}...")
    results = await pages.search(
        call.config.collections,
        query,
        top_k=call.arguments.top_k,
        threshold=call.config.threshold,
    )
    if results.failures and not results.pages:
        raise search_failed(results.failures[0])
    metadata = {
        "query": query,
        "count": len(results.pages),
        "time_ms": milliseconds_since(started),
        "model": results.model,
        "visual": results.visual,
    }
    content: dict[str, Any] = {
        "name": "colqwen_search",
        "objects": [{**page_object(each), "figures": each.figures} for each in results.pages],
        "metadata": metadata,
        "llm_message": f"Found {len(results.pages)} pages for '{query}'",
    }
    places = searched_places(call.config.collections, results.failures)
    return result(
        call,
        content,
        "\n\n".join(map(_shown, results.pages)) or empty_search_text("pages", query, places),
        [page_source(each) for each in results.pages],
        count=len(results.pages),
        objects=[{**each, "kind": PAGE_KIND} for each in content["objects"]],
        warnings=[failure.message for failure in results.failures],
    )


def _shown(page: PageMatch) -> str:
    return f"Page {page.page} of {page.title} ({page.picture_uri}):\n{page.text}"
