"""The results of the tools of one run. Each run has its own environment."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from heddle.tool.v1 import tool_pb2
from heddle_runtime.contract.json_text import members

_MAX_BYTES = 1_000_000
_BYTES_PER_TOKEN = 4
_RANKS = frozenset({"score", "scores", "relevance", "distance", "rank", "elapsed", "time_ms"})
"""Members that differ between two searches with the same result."""


@dataclass(slots=True)
class Environment:
    """Results by tool and name, and the errors that the next decision reads."""

    max_bytes: int = _MAX_BYTES
    findings: list[tool_pb2.Finding] = field(default_factory=list)
    """The result of each run of a tool."""
    errors: dict[str, tool_pb2.EnvironmentError] = field(default_factory=dict)
    """The error of the last run of each tool, if it failed, by tool."""
    left_out: int = 0
    """The number of objects that were dropped because of `max_bytes`."""
    _known: set[str] = field(default_factory=set)
    """The content of every object of the run, including those that a summary replaced."""
    _bytes: int = 0

    def add(self, tool: str, result: tool_pb2.ToolResult) -> int:
        """Add the result of a tool and clear its error.

        Returns:
            How many of the objects are new in this run, compared by content.
        """
        self.errors.pop(tool, None)
        name = result.name or tool
        own = {content(text) for text in self.find(tool, name)}
        objects, new = [], 0
        for text in result.objects_json:
            key = content(text)
            if key in own:
                continue
            own.add(key)
            new += key not in self._known
            self._known.add(key)
            size = len(text.encode())
            if self._bytes + size > self.max_bytes:
                self.left_out += 1
                continue
            self._bytes += size
            objects.append(text)
        finding = tool_pb2.Finding(
            tool=tool,
            name=name,
            objects_json=objects,
            metadata=result.metadata,
            message=result.message,
        )
        self.findings.append(finding)
        return new

    def fail(self, error: tool_pb2.EnvironmentError) -> None:
        """Store the error of a tool until the tool succeeds."""
        self.errors.pop(error.tool, None)  # the latest error is listed last
        self.errors[error.tool] = error

    def find(self, tool: str, name: str = "") -> tuple[str, ...]:
        """Return the objects of a tool, of one result name or of all. Empty if there are none."""
        return tuple(
            text
            for finding in self.findings
            if finding.tool == tool and name in ("", finding.name)
            for text in finding.objects_json
        )

    def objects(self) -> tuple[str, ...]:
        """Return all objects, oldest first, without duplicates."""
        distinct: dict[str, str] = {}
        for finding in self.findings:
            for text in finding.objects_json:
                distinct.setdefault(content(text), text)
        return tuple(distinct.values())

    def tools_of_objects(self) -> list[str]:
        """Return the tool that first returned each of `objects`, in their order."""
        tools: dict[str, str] = {}
        for finding in self.findings:
            for text in finding.objects_json:
                tools.setdefault(content(text), finding.tool)
        return list(tools.values())

    def is_empty(self) -> bool:
        """Return whether there are no objects."""
        return not any(finding.objects_json for finding in self.findings)

    def estimate_tokens(self) -> int:
        """Return about how many tokens all objects have: their bytes divided by 4."""
        return math.ceil(self._bytes / _BYTES_PER_TOKEN)

    def replace(self, tool: str, name: str, objects: Sequence[str]) -> None:
        """Replace all objects. Their content still counts as known."""
        self.findings = [tool_pb2.Finding(tool=tool, name=name, objects_json=objects)]
        self._bytes = sum(len(text.encode()) for text in objects)

    def to_proto(self) -> tool_pb2.Environment:
        """Return a copy for tools and traces."""
        return tool_pb2.Environment(
            findings=self.findings,
            errors=self.errors.values(),
            estimated_tokens=self.estimate_tokens(),
            left_out=self.left_out,
        )


def content(text: str) -> str:
    """Return a key that is equal for objects with equal content, whatever their rank."""
    return json.dumps(_without_ranks(members(text)), sort_keys=True)


def _without_ranks(value: object) -> object:
    match value:
        case dict():
            return {
                key: _without_ranks(inner)
                for key, inner in value.items()
                if key not in _RANKS and not key.startswith("_")
            }
        case list():
            return [_without_ranks(inner) for inner in value]
        case str():
            return " ".join(value.split())
        case _:
            return value


def all_text(objects: Iterable[str]) -> str:
    """Return the text of all values of objects, in lower case."""
    return "\n".join(_text(members(text)) for text in objects).casefold()


def _text(value: object) -> str:
    match value:
        case dict():
            return "\n".join(map(_text, value.values()))
        case list():
            return "\n".join(map(_text, value))
        case str():
            return value
        case _:
            return str(value)
