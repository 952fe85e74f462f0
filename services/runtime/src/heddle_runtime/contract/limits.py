"""Limits that several services check: of calls, assistants, and the pages of lists."""

from collections.abc import Mapping
from typing import Annotated, TypeGuard

from pydantic import Field

MAX_MESSAGE_BYTES = 32 * 1024 * 1024
"""The size of a message between services, in bytes."""
MAX_TOOLS = 64
"""The maximum number of tools of one assistant."""
MAX_TOOL_ROUNDS = 50
"""The maximum number of rounds of function calls, or decisions of the routing agent, in one run."""
MAX_BATCH_LINES = 10_000
"""The maximum number of requests in the file of a batch."""
MAX_CANDIDATES = 8
"""The maximum number of answers to one prompt that a request asks for."""
MAX_STARTER_QUESTIONS, MAX_QUESTION_CHARACTERS = 6, 200
"""The starter questions of an assistant, and the length of one."""
MAX_EMOJI_CHARACTERS, MAX_ICON_CHARACTERS = 16, 12_000
"""The length of an assistant's icon: an emoji, which can have several code points, or a picture."""
DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE = 100, 1000
"""The number of items of one page of a list."""
DEFAULT_SHORT_PAGE_SIZE, MAX_SHORT_PAGE_SIZE = 50, 200
"""The number of items of one page of a list that is usually short, such as that of the tools."""
MIN_TOOL_SECONDS, DEFAULT_TOOL_SECONDS, MAX_TOOL_SECONDS = 0.001, 20.0, 86_400
"""The time limit of one tool."""
ToolTimeoutSeconds = Annotated[
    float,
    Field(
        ge=MIN_TOOL_SECONDS,
        le=MAX_TOOL_SECONDS,
        validation_alias="HEDDLE_TOOL_TIMEOUT_SECONDS",
        description="Seconds that a tool may take if its binding sets no `timeout`. The "
        "orchestrator and the tool service read it: give both the same value.",
    ),
]
"""The type of the setting with the default time limit of a tool, in seconds."""
MAX_JSON_DEPTH = 32
"""Levels of objects and lists in metadata. A tool's configuration must fit the 100 nested messages
that protobuf reads, and costs three of them a level."""
MAX_OWNER_CHARACTERS = 320
"""The maximum number of characters of an e-mail address."""


def is_tool_timeout(seconds: object) -> TypeGuard[float]:
    """Return whether a value is a time limit that a tool can have."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return False
    return MIN_TOOL_SECONDS <= seconds <= MAX_TOOL_SECONDS


def exceeds_depth(value: object, levels: int) -> bool:
    """Return whether a JSON value has more than `levels` levels of objects and lists."""
    inside = [value]
    for _ in range(levels + 1):
        outer = [each for each in inside if isinstance(each, Mapping | list | tuple)]
        if not outer:
            return False
        inside = [
            item
            for each in outer
            for item in (each.values() if isinstance(each, Mapping) else each)
        ]
    return True
