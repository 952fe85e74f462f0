"""What comes out of a tool of the routing agent, and the one form in which frontends get it."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from heddle_runtime.redaction import redact_value

_MAX_TEXT_CHARACTERS = 2_000
_MARGIN = 512  # a secret that begins before the cut is recognised by what comes after it
_MAX_OBJECTS_CHARACTERS = 100_000
_MAX_DEPTH = 32


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool found."""

    objects: Sequence[Mapping[str, Any]] = ()
    """Piece by piece, plain JSON."""
    name: str = ""
    """What the objects are, for example their collection. Without it, the tool's name counts."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Facts for traces, plain JSON. No contents, no secrets."""
    llm_message: str = ""
    """One sentence about the result for whoever decides what to do next."""
    tool: str = field(default="", kw_only=True)
    """Whose result it is. The service knows; a tool leaves it out."""

    def to_frontend(self, query_id: str) -> dict[str, Any]:
        """Return the result as frontends read it, plain JSON.

        Long texts are cut at 2,000 characters, with an ellipsis at the end. Objects beyond 100,000
        characters are left out and counted in `left_out`, which is there only then.
        """
        objects, left_out = _within([shown(each) for each in self.objects])
        payload = {
            "tool": self.tool,
            "name": self.name or self.tool,
            "objects": objects,
            "metadata": shown(self.metadata),
            "llm_message": shown(self.llm_message),
        }
        return _payload("result", query_id, payload | ({"left_out": left_out} if left_out else {}))


@dataclass(frozen=True, slots=True)
class Error:
    """How a tool, or a part of its work, failed."""

    message: str
    """What is wrong. Shown to people and models: no secrets."""
    recoverable: bool = False
    """Whether the same call may succeed later."""
    suggestion: str = ""
    """What to do instead."""
    tool: str = field(default="", kw_only=True)
    """Which tool. The service knows; a tool leaves it out."""

    def to_frontend(self, query_id: str) -> dict[str, Any]:
        """Return the failure as frontends read it, plain JSON."""
        payload = {
            "tool": self.tool,
            "message": shown(self.message),
            "recoverable": self.recoverable,
            "suggestion": shown(self.suggestion),
        }
        return _payload("error", query_id, payload)


@dataclass(frozen=True, slots=True)
class Response:
    """An answer, or a piece of one."""

    text: str
    sources: Sequence[Mapping[str, Any]] = ()
    """What it rests on: of each the `page`, null if there is none, and the `manual`."""

    def to_frontend(self, query_id: str) -> dict[str, Any]:
        """Return the answer as frontends read it, plain JSON. Its text is whole, as it was said."""
        payload = {"text": self.text, "sources": shown(self.sources)}
        return _payload("response", query_id, payload)


@dataclass(frozen=True, slots=True)
class Status:
    """Progress."""

    message: str
    """One short phrase for the person who waits. No secrets."""

    def to_frontend(self, query_id: str) -> dict[str, Any]:
        """Return the progress as frontends read it, plain JSON."""
        return _payload("status", query_id, {"message": shown(self.message)})


ToolOutput = Result | Error | Response | Status
"""Whatever comes out."""


def shortened(
    value: Any,  # noqa: ANN401 - any value
    max_characters: int = _MAX_TEXT_CHARACTERS,
    depth: int = _MAX_DEPTH,
) -> Any:  # noqa: ANN401 - any value
    """Return a value as plain JSON, with its texts cut; what JSON does not know becomes text."""
    match value:
        case str():
            return value if len(value) <= max_characters else f"{value[: max_characters - 1]}…"
        case float():
            return value if math.isfinite(value) else None
        case int() | None:  # a bool, too
            return value
        case Mapping() if depth:
            return {
                str(name): shortened(item, max_characters, depth - 1)
                for name, item in value.items()
            }
        case list() | tuple() | set() | frozenset() if depth:
            return [shortened(it, max_characters, depth - 1) for it in value]
        case _:
            return shortened(str(value), max_characters)


def shown(value: Any, max_characters: int = _MAX_TEXT_CHARACTERS) -> Any:  # noqa: ANN401 - any value
    """Return a value as people may see it: plain JSON, its texts short, without secrets."""
    return shortened(redact_value(shortened(value, max_characters + _MARGIN)), max_characters)


def written(value: object) -> str:
    """Return the text of a JSON value; half of a character, which no message takes, is a `?`."""
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _within(objects: list[Any]) -> tuple[list[Any], int]:
    """Return the first objects that have room, and how many have none."""
    size = 0
    for number, each in enumerate(objects):
        size += len(json.dumps(each, ensure_ascii=False))
        if size > _MAX_OBJECTS_CHARACTERS:
            return objects[:number], len(objects) - number
    return objects, 0


def _payload(kind: str, query_id: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "query_id": query_id, "payload": payload}
