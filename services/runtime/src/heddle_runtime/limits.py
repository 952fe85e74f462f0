"""Limits that several services check: of an assistant, and of the pages of lists."""

from collections.abc import Mapping

MAX_TOOLS = 64
"""Tools of one assistant."""
MAX_TOOL_ROUNDS = 50
"""Rounds of function calls, or decisions of the routing agent, in one run."""
DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE = 100, 1000
"""Items of one page of a list."""
DEFAULT_SHORT_PAGE_SIZE, MAX_SHORT_PAGE_SIZE = 50, 200
"""Items of one page of a list that is usually short, such as that of the tools."""
MAX_TOOL_SECONDS = 86_400
"""Time limit of one tool."""
MAX_JSON_DEPTH = 32
"""Levels of objects and lists in metadata. A tool's configuration must fit the 100 nested messages
that protobuf reads, and costs three of them a level."""
MAX_OWNER_CHARACTERS = 320
"""Of an e-mail address."""


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
