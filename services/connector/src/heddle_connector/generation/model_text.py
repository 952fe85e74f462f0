"""Converts reasoning and tool calls that a model writes into its text to events of their own."""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import structlog
from heddle_runtime.contract.unicode_text import valid_text
from msgspec.structs import replace

from heddle_connector.generation.call import Call
from heddle_connector.generation.events import (
    AnswerWarning,
    Batch,
    Done,
    Event,
    ReasoningDelta,
    TextDelta,
    ToolCall,
)
from heddle_connector.generation.model_patterns import first_match, one_of
from heddle_connector.http.tolerant_json import BAD_JSON
from heddle_connector.toolcalls import (
    FORMATS,
    CallCutOff,
    CallRead,
    ContentPiece,
    ReadEvent,
    ReasoningPiece,
    ToolCallReader,
    is_plain,
)

log = structlog.get_logger(__name__)
ToolCallParser = Annotated[str, one_of({each.name for each in FORMATS}, "tool call parser")]
_ID_BYTES = 12
_CUT_OFF = (
    "The answer ends inside a tool call, which is shown as text and was not run; ask again, or for "
    "less at once."
)
_NOT_OFFERED = "The model called {}, which is no tool of this request; the call was not run."
_MAX_NAME_CHARS = 100


@dataclass(frozen=True, slots=True)
class ToolCallParsers:
    """The parsers for the text of models, by patterns of `connector/model`."""

    by_pattern: Mapping[str, Sequence[str]]
    """The first matching pattern applies. Without a match, all parsers are used."""

    def reader(self, call: Call) -> "ModelText":
        """Return a reader for the answer to `call`.

        A model may still write calls if functions were called earlier in the conversation and the
        request declares none. Such calls are removed from the text and not run.
        """
        if not (call.declared_tools or call.called_functions):  # most calls
            return _without_calls()
        declared = [_with_schema(each) for each in call.declared_tools if isinstance(each, dict)]
        known = declared or [{"name": name} for name in sorted(call.called_functions)]
        if not known or bytes(call.client_options.extra.get("tool_choice", b"")) == b'"none"':
            return _without_calls()
        parsers = first_match(f"{call.connector}/{call.model}", self.by_pattern)
        if parsers is not None and not parsers:
            return _without_calls()
        return ModelText(ToolCallReader(known, formats=parsers), declared=bool(declared))


def _without_calls() -> "ModelText":
    """Return a reader that looks for reasoning, and leaves calls in the text."""
    return ModelText(None, declared=False)


def _with_schema(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a function with its schema decoded. The schema gives textual values their types."""
    function: Mapping[str, Any] = tool["function"]
    schema = function.get("parameters")
    if not isinstance(schema, msgspec.Raw):
        return function
    try:
        return {**function, "parameters": msgspec.json.decode(schema)}
    except BAD_JSON:
        return {**function, "parameters": {}}


class ModelText:
    """Reads the events of one answer, streamed or whole.

    Reasoning and calls are removed from the text. What is neither is text, also if it begins as a
    call does: a malformed call, and one that the end of the answer cuts off.

    The calls are emitted at the end of the answer: if the provider sends native calls as well,
    the calls in the text repeat them and are dropped.
    """

    __slots__ = ("_calls", "_cut_off", "_declared", "_has_native_calls", "_reader")

    def __init__(self, reader: ToolCallReader | None, *, declared: bool) -> None:
        """Begin an answer.

        Args:
            reader: Reads the text. None: a reader without calls, which begins with the first text.
            declared: Whether the request declares functions.
        """
        self._reader = reader
        self._declared = declared
        self._calls: list[ToolCall] = []
        self._has_native_calls = False
        self._cut_off = False

    def take(self, events: Sequence[Event]) -> Sequence[Event]:
        """Return the events with reasoning and complete calls removed from the text."""
        if self._reader is None:
            if _is_plain_answer(events):
                return events
            self._reader = ToolCallReader(calls=False)
        if _passes(self._reader, events):
            return events
        return self._read(self._reader, events)

    def _read(self, reader: ToolCallReader, events: Sequence[Event]) -> Sequence[Event]:
        batch = Batch()
        for event in events:
            match event:
                case TextDelta() if event.literal:
                    batch.text(event.text)
                case TextDelta():
                    self._add(reader.feed(event.text), batch)
                case ReasoningDelta():
                    batch.reasoning(event.text)
                case Done():
                    self._add(reader.finish(), batch)
                    self._end(event, batch)
                case ToolCall():
                    self._has_native_calls = True
                    batch.add(event)
                case _:
                    batch.add(event)
        return batch.events()

    def interrupt(self) -> Sequence[Event]:
        """Return the events of the text that was held back, because the provider failed."""
        batch = Batch()
        if self._reader is not None:
            self._add(self._reader.finish(), batch)
        return batch.events()

    def _add(self, read: Sequence[ReadEvent], batch: Batch) -> None:
        for event in read:
            match event:
                case ContentPiece():
                    batch.text(event.text)
                case ReasoningPiece():
                    batch.reasoning(event.text)
                case CallRead() if not self._declared:
                    log.warning("tool call in text but no tools declared", function=event.name)
                    batch.add(AnswerWarning(_NOT_OFFERED.format(event.name[:_MAX_NAME_CHARS])))
                case CallRead():
                    arguments = valid_text(json.dumps(event.arguments, ensure_ascii=False))
                    identifier = f"call_{secrets.token_hex(_ID_BYTES)}"
                    self._calls.append(ToolCall(identifier, event.name, arguments))
                case CallCutOff():
                    self._cut_off = True
                    log.warning("tool call in text is incomplete", characters=len(event.text))
                    batch.add(AnswerWarning(_CUT_OFF))

    def _end(self, done: Done, batch: Batch) -> None:
        if self._calls and self._has_native_calls:
            names = [call.name for call in self._calls]
            log.warning("tool calls in text dropped in favour of native ones", functions=names)
            self._calls = []
        for call in self._calls:
            batch.add(call)
        if done.finish_reason in ("stop", "unknown"):
            if self._calls:
                done = replace(done, finish_reason="tool_calls")
            elif self._cut_off:
                done = replace(done, finish_reason="length")
        batch.add(done)


def _is_plain_answer(events: Sequence[Event]) -> bool:
    """Return whether events are a whole answer with one text, without reasoning in the text."""
    match events:
        case [TextDelta() as text, Done()]:
            return not text.literal and is_plain(text.text)
        case _:
            return False


def _passes(reader: ToolCallReader, events: Sequence[Event]) -> bool:
    """Return whether events are one token that is content as it is. The reader has read it then."""
    if len(events) != 1:
        return False
    [event] = events
    return type(event) is TextDelta and not event.literal and reader.passes(event.text)
