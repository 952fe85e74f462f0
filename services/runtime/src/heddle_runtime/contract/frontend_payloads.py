"""The outputs of tools of the routing agent, and their JSON form for frontends."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from heddle_runtime.contract.unicode_text import valid_text
from heddle_runtime.redaction import redact_value

_MAX_TEXT_CHARACTERS = 2_000
_MARGIN = 512  # redaction may need the text after the cut to recognise a secret before it
_MAX_OBJECTS_CHARACTERS = 100_000
_MAX_DEPTH = 32


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a tool."""

    objects: Sequence[Mapping[str, Any]] = ()
    """JSON objects."""
    name: str = ""
    """The name of the result, for example the collection. If empty, the tool's name."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """JSON values for traces. No contents, no secrets."""
    llm_message: str = ""
    """One sentence about the result, for the router that makes the next decision."""
    tool: str = field(default="", kw_only=True)
    """The tool. The service sets it; tools leave it empty."""

    def to_frontend(self, query_id: str) -> dict[str, Any]:
        """Return the result as JSON for frontends.

        Texts are cut at 2,000 characters, with an ellipsis at the end. Objects beyond 100,000
        characters are left out and counted in `left_out`, which is present only then.
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
    """The failure of a tool, or of a part of its work."""

    message: str
    """The fault. Users and models read it: no secrets."""
    recoverable: bool = False
    """Whether the same call may succeed later."""
    suggestion: str = ""
    """Advice for another attempt."""
    tool: str = field(default="", kw_only=True)
    """The tool. The service sets it; tools leave it empty."""

    def to_frontend(self, query_id: str) -> dict[str, Any]:
        """Return the failure as JSON for frontends."""
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
    """Its sources, each with the `page`, which may be null, and the `manual`."""

    def to_frontend(self, query_id: str) -> dict[str, Any]:
        """Return the answer as JSON for frontends. The text is complete and unchanged."""
        payload = {"text": self.text, "sources": shown(self.sources)}
        return _payload("response", query_id, payload)


@dataclass(frozen=True, slots=True)
class Status:
    """A report of progress."""

    message: str
    """One short phrase for the user. No secrets."""

    def to_frontend(self, query_id: str) -> dict[str, Any]:
        """Return the progress as JSON for frontends."""
        return _payload("status", query_id, {"message": shown(self.message)})


ToolOutput = Result | Error | Response | Status


def shortened(
    value: Any,  # noqa: ANN401 - any value
    max_characters: int = _MAX_TEXT_CHARACTERS,
    depth: int = _MAX_DEPTH,
) -> Any:  # noqa: ANN401 - any value
    """Return a value as JSON with its texts cut. A value that JSON does not have becomes text."""
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


def shown(
    value: Any,  # noqa: ANN401 - any value
    max_characters: int = _MAX_TEXT_CHARACTERS,
    *,
    personal: bool = False,
) -> Any:  # noqa: ANN401 - any JSON value
    """Return a value as JSON for people: without secrets, and with its texts cut.

    Args:
        value: Any value.
        max_characters: The most characters of a text.
        personal: Whether e-mail addresses are removed as well, as traces require.
    """
    short = shortened(value, max_characters + _MARGIN)
    return shortened(redact_value(short, personal=personal), max_characters)


def written(value: object) -> str:
    """Return the text of a JSON value. Unpaired surrogates become U+FFFD."""
    return valid_text(json.dumps(value, ensure_ascii=False))


def _within(objects: list[Any]) -> tuple[list[Any], int]:
    """Return the first objects within the limit, and the number of the others."""
    size = 0
    for number, each in enumerate(objects):
        size += len(json.dumps(each, ensure_ascii=False))
        if size > _MAX_OBJECTS_CHARACTERS:
            return objects[:number], len(objects) - number
    return objects, 0


def _payload(kind: str, query_id: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "query_id": query_id, "payload": payload}
