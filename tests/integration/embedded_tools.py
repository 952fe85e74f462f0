"""Three tools of a museum for the agent, put into a folder for plugins. They return their input."""

from typing import Any, Literal

from heddle_tools_service.sdk import Example, ToolArguments, ToolCall, ToolResult, tool
from pydantic import Field

Place = Literal["galleries", "library", "shop"]
Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]


class Search(ToolArguments):
    """What to search for."""

    query: str = Field(min_length=1, max_length=300, description="What to search for.")


class Hours(ToolArguments):
    """When something is open."""

    place: Place = Field(description="The part of the museum.")
    weekday: Weekday | None = None


class Topics(ToolArguments):
    """What a group is interested in."""

    topics: list[str] = Field(min_length=1, max_length=2, description="What it is about.")
    visitor: str | None = Field(description="Who asks, if it is known.")
    people: int = Field(ge=1, le=60, description="How many people come.")


@tool(
    "search_collection",
    title="Collection",
    modes=("agent",),
    examples=[
        Example("Who made the marble lion?", {"query": "Who made the marble lion?"}),
        Example("Tell me about frescoes", {"query": "Tell me about frescoes"}),
    ],
    effect="read_only",
)
async def search_collection(call: ToolCall[Any, Search]) -> ToolResult:
    """Searches the texts about the works and artists of the museum."""
    return _echo(call)


@tool(
    "show_opening_hours",
    title="Opening hours",
    modes=("agent",),
    examples=[
        Example(
            "When do the galleries open on Tuesday?", {"place": "galleries", "weekday": "tuesday"}
        ),
        Example("At what time does the shop close?", {"place": "shop"}),
    ],
    effect="read_only",
)
async def show_opening_hours(call: ToolCall[Any, Hours]) -> ToolResult:
    """Shows when a part of the museum is open."""
    return _echo(call)


@tool(
    "book_guide",
    title="Guides",
    modes=("agent",),
    examples=[
        Example(
            "A guide who knows pottery for 5 people",
            {"topics": ["pottery"], "visitor": None, "people": 5},
        ),
        Example(
            "Book a guide on glass and gold for 12 pupils",
            {"topics": ["glass", "gold"], "visitor": "pupils", "people": 12},
        ),
    ],
    effect="read_only",
)
async def book_guide(call: ToolCall[Any, Topics]) -> ToolResult:
    """Books a guide who shows a group what it is interested in."""
    return _echo(call)


def _echo(call: ToolCall[Any, Any]) -> ToolResult:
    text = call.arguments.model_dump_json()
    return ToolResult("", objects=[{"text": text, "manual": "Museum"}], name="Museum")
