"""Two small searches for the routing agent: the passages of a guide, and its pages with figures.

They find what stands in them, so that the agent can be tried without ingesting anything.
"""

from typing import Any

from heddle_tools_service.sdk import Example, ToolArguments, ToolCall, ToolError, ToolResult, tool
from pydantic import Field

_GUIDE = "Loom guide"
_SHORT = 3
_PASSAGES = (
    (2, "A heddle is a loop of wire or cord that holds one warp thread in its place."),
    (3, "The warp are the threads that are held tight on the loom; the weft goes between them."),
    (5, "A shed is the opening between warp threads through which the shuttle goes."),
)
_FIGURES = (
    (4, "Figure 1 shows the loom: the warp beam at the back, the shafts with their heddles."),
    (6, "Figure 2 is a diagram of a plain weave: over one thread, under the next."),
)


class SearchText(ToolArguments):
    """What to look for."""

    query: str = Field(
        min_length=1, max_length=1_000, description="What to look for.", examples=["heddle"]
    )


class Page(ToolArguments):
    """Which page to look at."""

    page: int = Field(default=0, ge=0, description="The page; 0 for the best that was found.")


async def _figures_available(call: ToolCall[Any]) -> bool:
    if not call.environment.find("guide_figures"):
        raise ToolError("No page with a figure was found yet.")
    return True


@tool(
    "guide_passages",
    title="Passages of the guide",
    category="rag",
    modes=("function", "agent"),
    examples=[
        Example("What is a shuttle?", {"query": "shuttle"}),
        Example("Define selvedge", {"query": "selvedge"}),
        Example("How many shafts does a loom need?", {"query": "shafts of a loom"}),
    ],
    effect="read_only",
)
async def guide_passages(call: ToolCall[Any, SearchText]) -> ToolResult:
    """Finds what the guide says: definitions and facts."""
    return _search(call.arguments.query, _PASSAGES)


@tool(
    "guide_figures",
    title="Figures of the guide",
    category="rag",
    modes=("function", "agent"),
    examples=[
        Example("Show me a drawing of the shuttle", {"query": "shuttle"}),
        Example("Which picture shows the treadles?", {"query": "treadles"}),
        Example("Is there a diagram of twill?", {"query": "twill"}),
    ],
    effect="read_only",
)
async def guide_figures(call: ToolCall[Any, SearchText]) -> ToolResult:
    """Finds pages of the guide that have a figure, a diagram or a drawing."""
    return _search(call.arguments.query, _FIGURES)


@tool(
    "look_at_figure",
    title="Look at a figure",
    category="rag",
    modes=("agent",),
    available=_figures_available,
    effect="read_only",
)
async def look_at_figure(call: ToolCall[Any, Page]) -> ToolResult:
    """Tells what a figure that was found shows."""
    pages = call.environment.find("guide_figures")
    if not pages:
        return ToolResult("", message="There is no page to look at.")
    page = next((each for each in pages if each["page"] == call.arguments.page), pages[0])
    description = {
        "page": page["page"],
        "manual": _GUIDE,
        "interpretation": f"It shows: {page['text']}",
    }
    return ToolResult("", objects=[description], name=_GUIDE)


def _search(query: str, texts: tuple[tuple[int, str], ...]) -> ToolResult:
    words = {word.strip("?.,!").casefold() for word in query.split()}
    matches = [
        {"page": page, "manual": _GUIDE, "text": text}
        for page, text in texts
        if any(len(word) > _SHORT and word in text.casefold() for word in words)
    ]
    return ToolResult(
        "\n".join(str(each["text"]) for each in matches),
        objects=matches,
        name=_GUIDE,
        message=f"Found {len(matches)} passages for '{query}'.",
    )
