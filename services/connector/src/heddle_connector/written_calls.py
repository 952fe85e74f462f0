"""Calls that a model writes into its text, told as calls where it was offered functions."""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import msgspec
import structlog
from msgspec.structs import replace

from heddle_connector.call import Call
from heddle_connector.events import Batch, Done, Event, ReasoningDelta, TextDelta, ToolCall
from heddle_connector.refusals import BAD_JSON
from heddle_connector.toolcalls import (
    FORMATS,
    CallCutOff,
    CallRead,
    ContentPiece,
    ReadEvent,
    ReasoningPiece,
    ToolCallReader,
)

log = structlog.get_logger(__name__)
_NAMES = frozenset(each.name for each in FORMATS)
_ID_BYTES = 12


@dataclass(frozen=True, slots=True)
class CallFormats:
    """Which formats models write calls in, by patterns of `connector/model`."""

    by_pattern: Mapping[str, Sequence[str]]
    """The first pattern that fits counts; without one, all formats are read."""

    def __post_init__(self) -> None:
        for pattern, names in self.by_pattern.items():
            if unknown := sorted(set(names) - _NAMES):
                raise ValueError(
                    f"There is no format {unknown[0]!r} for {pattern!r}; there are "
                    f"{', '.join(sorted(_NAMES))}."
                )

    def reader(self, call: Call) -> "WrittenCalls | None":
        """Return what reads an answer to `call`; None if there is nothing to read in it."""
        offered = [each for each in call.functions if isinstance(each, dict)]
        if not offered or bytes(call.options.extra.get("tool_choice", b"")) == b'"none"':
            return None
        name = f"{call.connector}/{call.model}"
        for pattern, formats in self.by_pattern.items():
            if fnmatchcase(name, pattern):
                return _reader(offered, formats) if formats else None
        return _reader(offered)


def _reader(
    offered: Sequence[Mapping[str, Any]], formats: Sequence[str] | None = None
) -> "WrittenCalls":
    return WrittenCalls(ToolCallReader([*map(_readable, offered)], formats=formats))


def _readable(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a tool with its parameters, which are JSON text so far, as values to look up."""
    try:
        found: Mapping[str, Any] = msgspec.json.decode(msgspec.json.encode(tool))
    except BAD_JSON:  # a number that only JSON can write; values of the function stay text
        return tool
    return found


class WrittenCalls:
    """Reads the events of one answer."""

    __slots__ = ("_found", "_reader")

    def __init__(self, reader: ToolCallReader) -> None:
        self._reader = reader
        self._found = False

    def take(self, events: Sequence[Event]) -> Sequence[Event]:
        """Return events with the calls that are complete in place of what was written."""
        batch = Batch()
        for event in events:
            match event:
                case TextDelta():
                    self._add(self._reader.feed(event.text), batch)
                case ReasoningDelta():
                    batch.reasoning(event.text)
                case Done():
                    self._add(self._reader.finish(), batch)
                    batch.add(self._ended(event))
                case _:
                    batch.add(event)
        return batch.events()

    def _add(self, read: Sequence[ReadEvent], batch: Batch) -> None:
        for event in read:
            match event:
                case ContentPiece():
                    batch.text(event.text)
                case ReasoningPiece():
                    batch.reasoning(event.text)
                case CallRead():
                    self._found = True
                    arguments = json.dumps(event.arguments, ensure_ascii=False)
                    identifier = f"call_{secrets.token_hex(_ID_BYTES)}"
                    batch.add(ToolCall(identifier, event.name, arguments))
                case CallCutOff():
                    # Half of a call is none, and its marks are not for people.
                    log.warning("a written call was cut off", characters=len(event.text))

    def _ended(self, done: Done) -> Done:
        if self._found and done.finish_reason in ("stop", "unknown"):
            return replace(done, finish_reason="tool_calls")
        return done
