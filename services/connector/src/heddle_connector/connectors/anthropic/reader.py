"""Reads answers of the Messages API, streamed or whole."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from heddle_connector.connectors.anthropic.conversation import CONTENT
from heddle_connector.sdk import (
    BAD_JSON,
    Batch,
    Done,
    Event,
    FinishReason,
    PassthroughFields,
    ProviderGarbledError,
    ToolCall,
    Usage,
    error_in_body,
)

MAX_BLOCK_CHARACTERS = 8 * 1024 * 1024
_REASONS: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "length",  # the provider would continue the answer in another request
    "refusal": "content_filter",
}
_PLAIN_REASONS = ("end_turn", "tool_use", "max_tokens")
_REASONING = ("thinking", "redacted_thinking")
_TEXTS = {"text": "text", "thinking": "thinking"}
"""The member with the text of a block, by the block's type."""


class _OutputDetails(msgspec.Struct, gc=False):
    thinking_tokens: int | None = None


class _Counts(msgspec.Struct, gc=False):
    input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    output_tokens: int | None = None
    output_tokens_details: _OutputDetails | None = None


class _Delta(msgspec.Struct, gc=False):
    """A piece of a block, or the end of the message."""

    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None
    stop_sequence: str | None = None
    stop_details: dict[str, Any] | None = None


class _Message(msgspec.Struct):
    """A whole message, or the beginning of a streamed one."""

    id: str = ""
    model: str = ""
    content: list[dict[str, Any]] = []
    stop_reason: str | None = None
    stop_sequence: str | None = None
    stop_details: dict[str, Any] | None = None
    usage: _Counts | None = None
    error: Any = None


class _StreamEvent(msgspec.Struct, gc=False):
    type: str
    index: int = 0
    delta: _Delta | None = None
    content_block: dict[str, Any] | None = None
    message: _Message | None = None
    usage: _Counts | None = None
    error: Any = None


_decode = msgspec.json.Decoder(_StreamEvent).decode


class MessageReader:
    """Turns the events of one streamed message into events.

    Args:
        calls: Whether the request declared functions. Then the reader collects the content, which
            the provider expects in the next request.
    """

    def __init__(self, *, calls: bool = False) -> None:
        self._passthrough = PassthroughFields.of_message() if calls else None
        self.finished = False
        """The answer has ended, or the provider failed. The rest can be ignored."""
        self._failure: Exception | None = None
        self._message = _Message()
        self._counts = _Counts()
        self._blocks: dict[int, _Block] = {}
        self._content: list[dict[str, Any]] = []
        self._has_text = self._has_calls = self._has_reasoning = False

    def read(self, payloads: Iterable[bytes]) -> Sequence[Event]:
        """Return the events of some payloads, up to one that fails. `check` raises the failure."""
        batch = Batch()
        try:
            for payload in payloads:
                self._event(_decode(payload), batch)
                if self.finished:
                    break
        except BAD_JSON:
            self._fail(ProviderGarbledError("The provider sent something that is not a message."))
        except ProviderGarbledError as error:
            self._fail(error)
        return batch.events()

    def end(self, payloads: Iterable[bytes] = ()) -> Sequence[Event]:
        """Return the last events of a stream that the provider did not end."""
        events = [*self.read(payloads)]
        if self.finished:
            return events
        batch = Batch()
        try:
            self._finish(batch)
        except ProviderGarbledError as error:
            self._fail(error)
        return [*events, *batch.events()]

    def read_whole(self, body: bytes) -> Sequence[Event]:
        """Return the events of a whole message."""
        batch = Batch()
        try:
            message = msgspec.json.decode(body, type=_Message)
        except BAD_JSON:
            raise ProviderGarbledError(
                "The provider sent something that is not a message."
            ) from None
        if message.error:
            raise error_in_body(message.error)
        self._start_message(message)
        for index, block in enumerate(message.content):
            self._start_block(index, block, batch)
            self._end_block(index, batch)
        self._finish(batch)
        return batch.events()

    def check(self) -> None:
        """Raise the failure, if there is one.

        Raises:
            ProviderGarbledError: The answer has another format, or is not complete.
            HeddleError: The provider sent an error.
        """
        if self._failure is not None:
            raise self._failure

    def _fail(self, error: Exception) -> None:
        self._failure = error
        self.finished = True

    def _event(self, event: _StreamEvent, batch: Batch) -> None:
        match event.type:
            case "content_block_delta" if event.delta is not None:
                self._delta(event.index, event.delta, batch)
            case "content_block_start" if event.content_block is not None:
                self._start_block(event.index, event.content_block, batch)
            case "content_block_stop":
                self._end_block(event.index, batch)
            case "message_start" if event.message is not None:
                self._start_message(event.message)
            case "message_delta":
                self._end_message(event)
            case "message_stop":
                self._finish(batch)
            case "error":
                self._fail(error_in_body(event.error))
            case _:  # pings, and kinds of events that the API may add
                pass

    def _start_message(self, message: _Message) -> None:
        self._message = message
        self._count(message.usage)

    def _end_message(self, event: _StreamEvent) -> None:
        self._count(event.usage)
        if delta := event.delta:
            self._message.stop_reason = delta.stop_reason
            self._message.stop_sequence = delta.stop_sequence
            self._message.stop_details = delta.stop_details

    def _count(self, counts: _Counts | None) -> None:
        """Store token counts: later ones replace earlier ones."""
        if counts is not None:
            for name in counts.__struct_fields__:
                if (value := getattr(counts, name)) is not None:
                    setattr(self._counts, name, value)

    def _start_block(self, index: int, fields: dict[str, Any], batch: Batch) -> None:
        block = self._blocks[index] = _Block(fields)
        if block.text_member and (text := fields.get(block.text_member)):
            self._add_text(block, text, batch)

    def _delta(self, index: int, delta: _Delta, batch: Batch) -> None:
        block = self._blocks.get(index)
        if block is None:
            raise ProviderGarbledError("The provider sent a piece of content without its start.")
        if text := delta.text or delta.thinking:
            self._add_text(block, text, batch)
        if delta.partial_json:
            block.add(delta.partial_json)
        if delta.signature:
            block.fields["signature"] = delta.signature

    def _add_text(self, block: "_Block", text: str, batch: Batch) -> None:
        if block.kind == "thinking":
            batch.reasoning(text)
        elif block.kind == "text":
            batch.text(text)
            self._has_text = True
        if self._passthrough is not None:
            block.add(text)

    def _end_block(self, index: int, batch: Batch) -> None:
        block = self._blocks.pop(index, None)
        if block is None:
            return
        if block.kind == "tool_use":
            self._has_calls = True
            batch.add(block.call())
        self._has_reasoning |= block.kind in _REASONING
        if self._passthrough is not None:
            self._content.append(block.content())

    def _finish(self, batch: Batch) -> None:
        message = self._message
        if not message.stop_reason:
            raise ProviderGarbledError("The provider's answer ended before it was complete.")
        for index in list(self._blocks):
            self._end_block(index, batch)
        self.finished = True
        details = message.stop_details or {}
        explanation = details.get("explanation")
        if message.stop_reason == "refusal" and isinstance(explanation, str) and not self._has_text:
            batch.text(explanation)
        reason = _REASONS.get(message.stop_reason, "unknown")
        batch.add(
            Done(reason, self._usage(), message.model, self._metadata(), self._message_extra())
        )

    def _usage(self) -> Usage:
        counts = self._counts
        cached = counts.cache_read_input_tokens or 0
        details = counts.output_tokens_details
        return Usage(
            (counts.input_tokens or 0) + (counts.cache_creation_input_tokens or 0) + cached,
            counts.output_tokens or 0,
            cached,
            (details.thinking_tokens or 0) if details else 0,
        )

    def _metadata(self) -> dict[str, Any]:
        message = self._message
        metadata: dict[str, Any] = {"id": message.id} if message.id else {}
        if message.stop_reason not in _PLAIN_REASONS:
            metadata["stop_reason"] = message.stop_reason
        if message.stop_sequence:
            metadata["stop_sequence"] = message.stop_sequence
        if message.stop_details:
            metadata["stop_details"] = message.stop_details
        return metadata

    def _message_extra(self) -> str:
        """Return the content of a message with reasoning and calls, which must come back."""
        if self._passthrough is None or not (self._has_calls and self._has_reasoning):
            return ""
        self._passthrough.take({CONTENT: msgspec.Raw(msgspec.json.encode(self._content))})
        return self._passthrough.json()


def read_message(body: bytes, *, calls: bool = False) -> Sequence[Event]:
    """Return the events of a whole message.

    Args:
        body: The response body.
        calls: Whether the request declared functions, as for `MessageReader`.

    Raises:
        ProviderGarbledError: The body is not a message.
        HeddleError: The body is an error object.
    """
    return MessageReader(calls=calls).read_whole(body)


class _Block:
    """A block of content that arrives in pieces."""

    __slots__ = ("_pieces", "_size", "fields", "kind", "text_member")

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields
        self.kind = fields.get("type", "")
        self.text_member = _TEXTS.get(self.kind, "")
        self._pieces: list[str] = []
        self._size = 0

    def add(self, piece: str) -> None:
        """Add a piece of the text, or of a call's arguments."""
        self._size += len(piece)
        if self._size > MAX_BLOCK_CHARACTERS:
            raise ProviderGarbledError(
                f"The provider sends a block of more than {MAX_BLOCK_CHARACTERS:,} characters."
            )
        self._pieces.append(piece)

    def call(self) -> ToolCall:
        """Return the call that the block is."""
        call_id, name = self.fields.get("id"), self.fields.get("name")
        if not (isinstance(call_id, str) and isinstance(name, str) and name):
            raise ProviderGarbledError("The provider sent a tool call without a name.")
        return ToolCall(call_id, name, self._arguments())

    def content(self) -> dict[str, Any]:
        """Return the whole block, as the provider expects it in the next request."""
        if self.text_member:
            return {**self.fields, self.text_member: "".join(self._pieces)}
        if self.kind == "tool_use":
            return {**self.fields, "input": _object(self._arguments())}
        return self.fields

    def _arguments(self) -> str:
        return "".join(self._pieces) or msgspec.json.encode(self.fields.get("input", {})).decode()


def _object(arguments: str) -> Any:  # noqa: ANN401 - an object of the model
    try:
        return msgspec.json.decode(arguments, type=dict[str, Any])
    except BAD_JSON:  # cut off
        return {}
