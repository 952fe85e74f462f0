"""Calls that a model writes into its text, told as calls where it was offered functions."""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import structlog
from msgspec.structs import replace

from heddle_connector.generation.call import Call
from heddle_connector.generation.events import (
    Batch,
    Done,
    Event,
    ReasoningDelta,
    TextDelta,
    ToolCall,
)
from heddle_connector.generation.model_patterns import said_of
from heddle_connector.http.provider_errors import BAD_JSON
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
        """Return what reads an answer to `call`; None if there is nothing to read in it.

        Where functions were called earlier and none is offered any more, a model may still write
        calls. They are nobody's then, but no text either.
        """
        if not (call.offered or call.called):  # most calls
            return None
        offered = [_readable(each) for each in call.offered if isinstance(each, dict)]
        known = offered or [{"name": name} for name in sorted(call.called)]
        if not known or bytes(call.given.extra.get("tool_choice", b"")) == b'"none"':
            return None
        formats = said_of(f"{call.connector}/{call.model}", self.by_pattern)
        if formats is not None and not formats:
            return None
        return WrittenCalls(ToolCallReader(known, formats=formats), wanted=bool(offered))


def _readable(declared: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a function with its schema decoded: what is written as text gets its type by it."""
    function: Mapping[str, Any] = declared["function"]
    schema = function.get("parameters")
    if not isinstance(schema, msgspec.Raw):
        return function
    try:
        return {**function, "parameters": msgspec.json.decode(schema)}
    except BAD_JSON:
        return {**function, "parameters": {}}


class WrittenCalls:
    """Reads the events of one answer.

    Its calls are told at its end: if the provider tells calls itself, those are what the model
    meant, and what is written is the same once more.
    """

    __slots__ = ("_calls", "_native", "_reader", "_wanted")

    def __init__(self, reader: ToolCallReader, *, wanted: bool) -> None:
        self._reader = reader
        self._wanted = wanted
        self._calls: list[ToolCall] = []
        self._native = False

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
                    self._end(event, batch)
                case ToolCall():
                    self._native = True
                    batch.add(event)
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
                case CallRead() if not self._wanted:
                    log.warning("a call was written where none is offered", function=event.name)
                case CallRead():
                    arguments = json.dumps(event.arguments, ensure_ascii=False)
                    identifier = f"call_{secrets.token_hex(_ID_BYTES)}"
                    self._calls.append(ToolCall(identifier, event.name, arguments))
                case CallCutOff():
                    # Half of a call is none, and its marks are not for people.
                    log.warning("a written call was cut off", characters=len(event.text))

    def _end(self, done: Done, batch: Batch) -> None:
        if self._calls and self._native:
            names = [call.name for call in self._calls]
            log.warning("calls were written beside native ones", functions=names)
            self._calls = []
        for call in self._calls:
            batch.add(call)
        if self._calls and done.finish_reason in ("stop", "unknown"):
            done = replace(done, finish_reason="tool_calls")
        batch.add(done)
