"""Interprets the image of a page."""

import time
from dataclasses import replace
from typing import Any

from pydantic import Field

from heddle_tools_service.capabilities.pages import PageMatch, Pages
from heddle_tools_service.sdk import Example, ToolArguments, ToolCall, ToolError, ToolResult, tool
from heddle_tools_service.tools.pages_seen import pages_in, pages_seen
from heddle_tools_service.tools.retrieval import ManualConfig
from heddle_tools_service.tools.retrieved import (
    MAX_EXCERPT_CHARS,
    milliseconds_since,
    page_source,
    result,
)

_MAX_PATH_CHARS = 400


class VisualInterpretationArguments(ToolArguments):
    """The page to look at, and the question about it."""

    image_path: str = Field(
        default="",
        max_length=_MAX_PATH_CHARS,
        description="The preview_url of a page that a search found. Without it, the best of the "
        "pages that were found before.",
    )
    prompt: str = Field(
        default="",
        max_length=10_000,
        description="What to look for on the page. Without it, what the user asked.",
    )


async def _available(call: ToolCall[ManualConfig]) -> bool:
    # A model that calls functions is offered them before anything was found, and can name a page.
    if call.mode == "agent" and not pages_in(call.environment):
        raise ToolError("No page was found yet to look at.")
    return True


@tool(
    "visual_interpretation",
    title="Visual Interpretation",
    label="Look at a page",
    category="rag",
    modes=("augment", "function", "agent"),
    available=_available,
    examples=[
        Example("What does the diagram show?", {"prompt": "What does the diagram show?"}),
        Example("Which resistor is in the circuit?", {"prompt": "Which resistor is drawn?"}),
        Example("Where is the valve in the drawing?", {"prompt": "Where is the valve?"}),
    ],
)
async def visual_interpretation(
    call: ToolCall[ManualConfig, VisualInterpretationArguments], pages: Pages
) -> ToolResult:
    """Look at the image of a page that a search found, and answer a prompt about it."""
    started = time.perf_counter()
    prompt = call.arguments.prompt.strip() or call.query.strip()
    if not prompt:
        raise ToolError("No user message found for prompt")
    page = await _page(call, pages)
    call.status(f"Looking at page {page.page} of {page.title}...")
    seen = await pages.interpret(page, prompt)
    metadata = {
        "prompt": prompt,
        "time_ms": milliseconds_since(started),
        "model": seen.model,
        "visual": seen.visual,
    }
    content: dict[str, Any] = {
        "name": "visual_interpretation",
        "objects": [
            {"interpretation": seen.text, "page": page.page, "image_path": page.picture_uri}
        ],
        "metadata": metadata,
        "llm_message": f"Looked at page {page.page} of {page.title}"
        if seen.visual
        else f"Read page {page.page} of {page.title}; no model has seen its image",
    }
    cited = [{**each, "title": page.title} for each in content["objects"]]
    source = replace(page_source(page), excerpt=seen.text[:MAX_EXCERPT_CHARS])
    return result(call, content, seen.text, [source], objects=cited)


async def _page(
    call: ToolCall[ManualConfig, VisualInterpretationArguments], pages: Pages
) -> PageMatch:
    path = call.arguments.image_path.strip()
    if path:
        return await pages.find(call.config.collections, path)
    known = pages_in(call.environment) or pages_seen(call.earlier)
    if not known:
        raise ToolError(
            "No page has been found yet. Search with colqwen_search first, and pass the "
            "preview_url of a page as image_path.",
            kind="no_pages",
        )
    return await pages.find(call.config.collections, known[0].picture_uri)
