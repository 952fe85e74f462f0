"""Looks at the picture of a page that was found."""

import json
import time

from pydantic import Field

from heddle_tools_service.sdk import (
    FoundPage,
    ToolArguments,
    ToolCall,
    ToolError,
    ToolResult,
    tool,
)
from heddle_tools_service.tools.pages_seen import pages_seen
from heddle_tools_service.tools.retrieved import ManualConfig, page_source

_LONGEST_PATH = 400


class VisualInterpretationArguments(ToolArguments):
    """Which page, and what to look for."""

    image_path: str = Field(
        default="",
        max_length=_LONGEST_PATH,
        description="The preview_url of a page that a search found. Without it, the best of the "
        "pages that were found before.",
    )
    prompt: str = Field(
        default="",
        max_length=10_000,
        description="What to look for on the page. Without it, what the user asked.",
    )


@tool(
    "visual_interpretation",
    title="Visual Interpretation",
    config=ManualConfig,
    arguments=VisualInterpretationArguments,
    slot="context",
    category="rag",
    modes=("augment", "function"),
)
async def visual_interpretation(
    call: ToolCall[ManualConfig, VisualInterpretationArguments],
) -> ToolResult:
    """Look at the picture of a page that a search found, and tell what a prompt asks of it."""
    started = time.perf_counter()
    prompt = call.arguments.prompt.strip() or call.query.strip()
    if not prompt:
        raise ToolError("No user message found for prompt")
    page = await _page(call)
    call.status(f"Looking at page {page.page} of {page.title}...")
    seen = await call.pages.interpret(page, prompt)
    metadata = {
        "prompt": prompt,
        "time_ms": round((time.perf_counter() - started) * 1000, 1),
        "model": seen.model,
        "visual": seen.visual,
    }
    told = {
        "name": "visual_interpretation",
        "objects": [
            {"interpretation": seen.text, "page": page.page, "image_path": page.picture_uri}
        ],
        "metadata": metadata,
        "llm_message": f"Looked at page {page.page} of {page.title}"
        if seen.visual
        else f"Read page {page.page} of {page.title}; nobody has looked at its picture",
    }
    text = json.dumps(told, ensure_ascii=False) if call.called else seen.text
    return ToolResult(text, [page_source(page)], metadata)


async def _page(call: ToolCall[ManualConfig, VisualInterpretationArguments]) -> FoundPage:
    """Return the page that the call names, else the best one that was found.

    Raises:
        ToolError: There is none, or it is not among what this assistant may see.
    """
    path = call.arguments.image_path.strip()
    if path:
        return await call.pages.find(call.config.collections, path)
    found = pages_seen(call.earlier)
    if not found:
        raise ToolError(
            "No page has been found yet. Search with colqwen_search first, and pass the "
            "preview_url of a page as image_path.",
            kind="no_pages",
        )
    return await call.pages.find(call.config.collections, found[0].picture_uri)
