"""What the tools of one run have found so far. One object for each run: nothing is shared."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.struct_pb2 import Struct
from heddle.tool.v1 import tool_pb2

_MOST_CHARS = 1_000_000
_BYTES_PER_TOKEN = 4
_RANKS = frozenset({"score", "scores", "relevance", "distance", "rank", "elapsed", "time_ms"})
"""Members that differ between two searches that find the same thing."""


@dataclass(slots=True)
class Found:
    """What one run of one tool found."""

    tool: str
    name: str
    objects: list[str]
    """The text of one JSON object each."""
    metadata: Struct
    message: str


@dataclass(frozen=True, slots=True)
class Failed:
    """How the last run of a tool failed."""

    message: str
    recoverable: bool
    suggestion: str


@dataclass(slots=True)
class Environment:
    """Results by tool and name, and the errors that the next decision sees."""

    most_chars: int = _MOST_CHARS
    found: list[Found] = field(default_factory=list)
    errors: dict[str, Failed] = field(default_factory=dict)
    """By tool."""
    left_out: int = 0
    """Objects that had no more room."""
    _known: set[str] = field(default_factory=set)
    """The content of everything that was ever found, also of what a summary replaced."""
    _bytes: int = 0

    def add(self, tool: str, result: tool_pb2.ToolResult) -> int:
        """Add what a tool found and forget its error.

        Returns:
            How many of the objects nobody had found before, by content.
        """
        self.errors.pop(tool, None)
        name = result.name or tool
        own = {content(text) for text in self.find(tool, name)}
        kept, new = [], 0
        for text in result.objects_json:
            says = content(text)
            if says in own:
                continue
            own.add(says)
            new += says not in self._known
            self._known.add(says)
            size = len(text.encode())
            if self._bytes + size > self.most_chars:
                self.left_out += 1
                continue
            self._bytes += size
            kept.append(text)
        self.found.append(Found(tool, name, kept, result.metadata, result.message))
        return new

    def fail(self, tool: str, failed: Failed) -> None:
        """Keep the error of a tool until it succeeds."""
        self.errors.pop(tool, None)  # the latest one last
        self.errors[tool] = failed

    def find(self, tool: str, name: str = "") -> tuple[str, ...]:
        """Return the objects that a tool found, under one name or under all. Empty if none."""
        return tuple(
            text
            for found in self.found
            if found.tool == tool and name in ("", found.name)
            for text in found.objects
        )

    def objects(self) -> tuple[str, ...]:
        """Return all objects in the order in which they were found, equal ones once."""
        distinct: dict[str, str] = {}
        for found in self.found:
            for text in found.objects:
                distinct.setdefault(content(text), text)
        return tuple(distinct.values())

    def is_empty(self) -> bool:
        """Whether nothing was found."""
        return not any(found.objects for found in self.found)

    def estimate_tokens(self) -> int:
        """Return about how many tokens a model reads for all objects: their bytes by 4."""
        return math.ceil(self._bytes / _BYTES_PER_TOKEN)

    def replace(self, tool: str, name: str, objects: Sequence[str]) -> None:
        """Put a few objects in place of everything, and remember what was known."""
        self.found = [Found(tool, name, list(objects), Struct(), "")]
        self._bytes = sum(len(text.encode()) for text in objects)

    def told(self) -> tool_pb2.Environment:
        """Return a copy for tools and traces."""
        return tool_pb2.Environment(
            found=[
                tool_pb2.FoundObjects(
                    tool=each.tool,
                    name=each.name,
                    objects_json=each.objects,
                    metadata=each.metadata,
                    message=each.message,
                )
                for each in self.found
            ],
            errors=[
                tool_pb2.EnvironmentError(
                    tool=tool,
                    message=each.message,
                    recoverable=each.recoverable,
                    suggestion=each.suggestion,
                )
                for tool, each in self.errors.items()
            ],
            estimated_tokens=self.estimate_tokens(),
            left_out=self.left_out,
        )


def content(text: str) -> str:
    """Return what is the same for objects that say the same, however they were ranked."""
    return json.dumps(_unranked(members(text)), sort_keys=True)


def members(text: str) -> dict[str, Any]:
    """Return the members of an object; none if it is not one."""
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def _unranked(value: object) -> object:
    match value:
        case dict():
            return {
                key: _unranked(inner)
                for key, inner in value.items()
                if key not in _RANKS and not key.startswith("_")
            }
        case list():
            return [_unranked(inner) for inner in value]
        case str():
            return " ".join(value.split())
        case _:
            return value


def words_of(objects: Iterable[str]) -> str:
    """Return everything that objects say, as one text in small letters."""
    return "\n".join(_said(members(text)) for text in objects).casefold()


def _said(value: object) -> str:
    match value:
        case dict():
            return "\n".join(map(_said, value.values()))
        case list():
            return "\n".join(map(_said, value))
        case str():
            return value
        case _:
            return str(value)
