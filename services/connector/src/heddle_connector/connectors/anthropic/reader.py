"""Reads answers of the Messages API, streamed or whole."""

import secrets
from typing import Any

import msgspec

from heddle_connector.connectors.anthropic.conversation import CONTENT
from heddle_connector.sdk import (
    BAD_JSON,
    AnswerReader,
    Batch,
    Done,
    FinishReason,
    PassthroughFields,
    ProviderGarbledError,
    TolerantDecoder,
    ToolCall,
    Usage,
    as_text,
    error_in_body,
    json_text,
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

    @staticmethod
    def prepare(value: dict[str, Any]) -> dict[str, Any]:
        """Return the members of a message, whose content may be a text."""
        content = value.get("content")
        if not isinstance(content, str):
            return value
        return {**value, "content": [{"type": "text", "text": content}]}


class _StreamEvent(msgspec.Struct, gc=False):
    type: str = ""
    index: int = 0
    content: Any = None
    """The content of a whole message, which some servers send instead of events."""
    delta: _Delta | None = None
    content_block: dict[str, Any] | None = None
    message: _Message | None = None
    usage: _Counts | None = None
    error: Any = None


_decode = TolerantDecoder(_StreamEvent).decode
_decode_message = TolerantDecoder(_Message).decode
_decode_object = TolerantDecoder(dict[str, Any]).decode


class MessageReader(AnswerReader):
    """Turns the events of one streamed message into events.

    Args:
        calls: Whether the request declared functions. Then the reader collects the content, which
            the provider expects in the next request.
    """

    def __init__(self, *, calls: bool = False) -> None:
        super().__init__()
        self._passthrough = PassthroughFields.of_message() if calls else None
        self._message = _Message()
        self._counts = _Counts()
        self._blocks: dict[int, _Block] = {}
        self._content: list[dict[str, Any]] = []
        self._has_text = self._has_calls = self._has_reasoning = False

    def _payload(self, payload: bytes | str, batch: Batch) -> None:
        event = _decode(payload)
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
                self._finish_complete(batch)
            case "message" | "" if event.content is not None:
                self._whole_message(_decode_message(payload), batch)
            case _ if event.error:
                raise error_in_body(event.error)
            case _:  # pings, and kinds of events that the API may add
                pass

    def _whole_message(self, message: _Message, batch: Batch) -> None:
        self._start_message(message)
        for index, block in enumerate(message.content):
            self._start_block(index, block, batch)
            self._end_block(index, batch)
        self._finish_complete(batch)

    def _finish_complete(self, batch: Batch) -> None:
        """Finish an answer that the provider has ended, with or without a reason."""
        if self._has_content:
            self._message.stop_reason = self._message.stop_reason or "end_turn"
        self._finish(batch)

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
        if block.text_member:
            self._add_piece(block, block.text_member, as_text(fields.get(block.text_member)), batch)

    def _delta(self, index: int, delta: _Delta, batch: Batch) -> None:
        block = self._blocks.get(index)
        if block is None:  # its start is missing
            kind = "tool_use" if delta.partial_json is not None else "thinking"
            kind = "text" if delta.text is not None else kind
            block = self._blocks[index] = _Block({"type": kind})
        for member in _TEXTS.values():
            self._add_piece(block, member, getattr(delta, member), batch)
        if delta.partial_json:
            block.add(delta.partial_json)
        if delta.signature:
            block.fields["signature"] = delta.signature

    def _add_piece(self, block: "_Block", member: str, text: str | None, batch: Batch) -> None:
        if not text:
            return
        if member == "thinking":
            self._add_reasoning(text, batch)
        else:
            self._add_text(text, batch)
            self._has_text = True
        if self._passthrough is not None and block.text_member == member:
            block.add(text)

    def _end_block(self, index: int, batch: Batch) -> None:
        """End a block, and add the calls of all blocks up to the first that has not ended."""
        if index in self._blocks:
            self._blocks[index].has_ended = True
        for number, block in list(self._blocks.items()):
            if not block.has_ended:
                break
            del self._blocks[number]
            self._add_block(block, batch)

    def _add_block(self, block: "_Block", batch: Batch) -> None:
        if block.kind == "tool_use":
            call = block.call()
            self._has_calls |= bool(call.name)
            self._add_call(call, batch)
        self._has_reasoning |= block.kind in _REASONING
        if self._passthrough is not None:
            self._content.append(block.content())

    def _finish(self, batch: Batch) -> None:
        self._require_content()
        message = self._message
        if not message.stop_reason:
            raise ProviderGarbledError("The provider's answer ended before it was complete.")
        for block in self._blocks.values():
            self._add_block(block, batch)
        details = message.stop_details or {}
        explanation = details.get("explanation")
        if message.stop_reason == "refusal" and isinstance(explanation, str) and not self._has_text:
            self._add_text(explanation, batch)
        reason = _REASONS.get(message.stop_reason, "unknown")
        extra = self._message_extra()
        self._add_done(Done(reason, self._usage(), message.model, self._metadata(), extra), batch)

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
        self._passthrough.take({CONTENT: msgspec.Raw(json_text(self._content).encode())})
        return self._passthrough.json()


class _Block:
    """A block of content that arrives in pieces."""

    __slots__ = ("_pieces", "_size", "fields", "has_ended", "kind", "text_member")

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields
        self.kind = fields.get("type", "")
        self.text_member = _TEXTS.get(self.kind, "")
        self.has_ended = False
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
        call_id = as_text(self.fields.get("id")) or f"toolu_{secrets.token_hex(12)}"
        return ToolCall(call_id, as_text(self.fields.get("name")), self._arguments())

    def content(self) -> dict[str, Any]:
        """Return the whole block, as the provider expects it in the next request."""
        if self.text_member:
            return {**self.fields, self.text_member: "".join(self._pieces)}
        if self.kind == "tool_use":
            return {**self.fields, "input": _object(self._arguments())}
        return self.fields

    def _arguments(self) -> str:
        return "".join(self._pieces) or json_text(self.fields.get("input") or {})


def _object(arguments: str) -> Any:  # noqa: ANN401 - an object of the model
    try:
        return _decode_object(arguments)
    except BAD_JSON:  # cut off
        return {}
