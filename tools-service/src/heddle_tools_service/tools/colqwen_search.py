"""Finds pages by late interaction over all that stands on them."""

import time
from typing import Any

from pydantic import Field

from heddle_tools_service.capabilities.pages import PageMatch, Pages
from heddle_tools_service.sdk import Example, ToolCall, ToolError, ToolResult, tool
from heddle_tools_service.tools.fast_vector_search import failed
from heddle_tools_service.tools.pages_seen import PAGE_KIND
from heddle_tools_service.tools.retrieved import (
    ManualConfig,
    WantedText,
    page_object,
    page_source,
    result,
    wanted,
)

_MOST = 20


class ColqwenSearchArguments(WantedText):
    """What to look for, and how much to bring."""

    top_k: int = Field(default=3, ge=1, le=_MOST, description="Maximum pages")


@tool(
    "colqwen_search",
    title="Page Search",
    config=ManualConfig,
    arguments=ColqwenSearchArguments,
    slot="context",
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
    call: ToolCall[ManualConfig, ColqwenSearchArguments], pages: Pages
) -> ToolResult:
    """Search pages with figures, best for diagrams, drawings, tables and screenshots."""
    started = time.perf_counter()
    query = wanted(call)
    if not query:
        raise ToolError("No user message found for query")
    call.status(f"Searching pages of {', '.join(call.config.collections)}...")
    found = await pages.search(call.config.collections, query, top_k=call.arguments.top_k)
    if found.failures and not found.pages:
        raise failed(found.failures[0])
    metadata = {
        "query": query,
        "count": len(found.pages),
        "time_ms": round((time.perf_counter() - started) * 1000, 1),
        "model": found.model,
        "visual": found.visual,
    }
    told: dict[str, Any] = {
        "name": "colqwen_search",
        "objects": [{**page_object(each), "figures": each.figures} for each in found.pages],
        "metadata": metadata,
        "llm_message": f"Found {len(found.pages)} pages for '{query}'",
    }
    return result(
        call,
        told,
        "\n\n".join(map(_shown, found.pages)),
        [page_source(each) for each in found.pages],
        objects=[{**each, "kind": PAGE_KIND} for each in told["objects"]],
        warnings=[failure.message for failure in found.failures],
    )


def _shown(page: PageMatch) -> str:
    """Return a page for a prompt, under a line that tells where its picture is."""
    return f"Page {page.page} of {page.title} ({page.picture_uri}):\n{page.text}"
