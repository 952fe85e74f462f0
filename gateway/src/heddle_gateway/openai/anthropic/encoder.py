"""Encodes run events as a message, and as the server-sent events of a streamed one."""

from collections.abc import Callable
from typing import Any

import msgspec
from heddle.chat.v1.chat_pb2 import Done, GeneratedImage, ToolCall, Usage
from heddle_runtime.contract.json_text import members

from heddle_gateway.http.error_responses import ErrorResponse
from heddle_gateway.openai.anthropic.blocks import Needed
from heddle_gateway.openai.chat import run_events
from heddle_gateway.openai.chat.event_encoder import Answer, EventEncoder, escaped, one_line
from heddle_gateway.openai.chat.run_events import Citation, citations, new_id

_encode = msgspec.json.encode
_NO_USAGE = Usage()
_REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
}
# Reasons of Anthropic's that only its own metadata have.
_MORE_REASONS = ("stop_sequence", "pause_turn", "model_context_window_exceeded")
_TEXT, _THINKING = "text", "thinking"
_DELTAS = {
    _TEXT: b',"delta":{"type":"text_delta","text":',
    _THINKING: b',"delta":{"type":"thinking_delta","thinking":',
}
_MAX_CITED_CHARS = 150


class MessageEncoder(EventEncoder):
    """Turns batches of events into events of a message."""

    def __init__(
        self,
        model: str,
        answer: Answer,
        seal: Callable[[str], str],
        *,
        trace: bool,
        streamed: bool = True,
    ) -> None:
        """Begin a message; one that is not streamed has no frames.

        Args:
            model: The name by which the client knows the assistant.
            answer: What it depends on beside the request's body.
            seal: Encrypts what a provider needs back.
            trace: Whether the client wants the trace of the run.
            streamed: Whether it has frames.
        """
        super().__init__(answer, trace=trace, streamed=streamed)
        self._seal = seal
        self._content: list[dict[str, Any]] = []
        self._kind = ""
        """The type of the block that is open; empty if there is none."""
        self._written: list[str] = []
        self._about = b""
        """The frame of a delta of the open block, up to its text."""
        self._seen = 0
        """How many sources earlier blocks could cite."""
        self._message: dict[str, Any] = {
            "id": new_id("msg"),
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": _usage(_NO_USAGE),
        }
        self._opening = self._frame("message_start", message=self._message)

    def body(self) -> bytes:
        """Return the message as JSON."""
        return _encode(self._message)

    def failure(self, error: ErrorResponse) -> bytes:
        """Return the frames that end a stream which failed."""
        frame = b"event: error\ndata: " + one_line(error.json()) + b"\n\n"
        return self._opened(self._end_progress() + frame)

    def _frame(self, kind: str, **named: object) -> bytes:
        if not self._streamed:
            return b""
        data = one_line(_encode({"type": kind, **named}))
        return b"event: %b\ndata: %b\n\n" % (kind.encode(), data)

    def _note(self, members: bytes) -> bytes:
        # Clients skip pings.
        return b'event: ping\ndata: {"type":"ping"%b}\n\n' % members if self._streamed else b""

    def _delta(self, kind: str, text: str) -> bytes:
        frames = self._begin(kind) if self._kind != kind else b""
        self._written.append(text)
        return b"%b%b%b}}\n\n" % (frames, self._about, escaped(text)) if self._streamed else b""

    def _begin(self, kind: str) -> bytes:
        frames = self._end_block()
        self._kind = kind
        block = {"type": kind, kind: ""} | ({"signature": ""} if kind == _THINKING else {})
        index = len(self._content)
        self._about = (
            b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d%b'
            % (index, _DELTAS[kind])
        )
        return frames + self._frame("content_block_start", index=index, content_block=block)

    def _end_block(self) -> bytes:
        if not (kind := self._kind):
            return b""
        self._kind = ""
        block: dict[str, Any] = {"type": kind, kind: "".join(self._written)}
        self._written.clear()
        if kind == _THINKING:
            block["signature"] = ""
            return self._add(block)
        new, self._seen = self._cited()[self._seen :], len(self._sources)
        index = len(self._content)
        cited = [_citation(each, i) for i, each in enumerate(citations(new))]
        if cited:
            block["citations"] = cited
        frames = [
            self._frame(
                "content_block_delta",
                index=index,
                delta={"type": "citations_delta", "citation": each},
            )
            for each in cited
        ]
        return b"".join([*frames, self._add(block)])

    def _add(self, block: dict[str, Any]) -> bytes:
        """Add a block that is complete, and return the frame of its end."""
        self._content.append(block)
        return self._frame("content_block_stop", index=len(self._content) - 1)

    def _text(self, text: str, logprobs_json: str) -> bytes:
        return self._delta(_TEXT, text)

    def _reasoning(self, text: str, more: bytes = b"") -> bytes:
        frames = self._delta(_THINKING, text)
        return frames + self._note(more) if more else frames

    def _call(self, call: ToolCall) -> bytes:
        return b""  # what the provider needs back comes before the calls

    def _image(self, image: GeneratedImage) -> bytes:
        return self._delta(_TEXT, run_events.image_link(image, self._answer.link))

    def _done(self, done: Done) -> bytes:
        frames = [self._end_block(), self._needed(done)]
        frames += [self._tool_use(call) for call in self._calls]
        more = {"heddle": heddle} if (heddle := self._heddle()) else {}
        reason, sequence = _stop(done, len(self._calls))
        end = {"stop_reason": reason, "stop_sequence": sequence}
        usage = _usage(done.usage)
        self._message |= {**end, "content": self._content, "usage": usage, **more}
        frames.append(self._frame("message_delta", delta=end, usage=usage, **more))
        return b"".join([*frames, self._frame("message_stop")])

    def _needed(self, done: Done) -> bytes:
        """Return the block with what the provider needs back with the calls, if there is any."""
        extra = run_events.message_extra(done, len(self._calls))
        calls = {each.id: each.extra_json for each in self._calls if each.extra_json}
        if not extra and not calls:
            return b""
        needed = Needed(_encode(extra).decode() if extra else "", calls)
        block = {"type": "redacted_thinking", "data": self._seal(_encode(needed).decode())}
        index = len(self._content)
        frame = self._frame("content_block_start", index=index, content_block=block)
        return frame + self._add(block)

    def _tool_use(self, call: ToolCall) -> bytes:
        block: dict[str, Any] = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        index = len(self._content)
        frames = self._frame("content_block_start", index=index, content_block=block)
        arguments = call.arguments_json or "{}"
        delta = {"type": "input_json_delta", "partial_json": arguments}
        frames += self._frame("content_block_delta", index=index, delta=delta)
        return frames + self._add({**block, "input": members(arguments)})


def _stop(done: Done, calls: int) -> tuple[str, str | None]:
    """Return the reason for the end of a message, and the sequence that ended it."""
    metadata = done.provider_metadata_json
    known = members(metadata) if '"stop_' in metadata else {}
    reason = known.get("stop_reason")
    if reason not in _MORE_REASONS:
        reason = _REASONS[run_events.finish_reason(done, calls)]
    sequence = known.get("stop_sequence")
    return reason, sequence if isinstance(sequence, str) else None


def _usage(counts: Usage) -> dict[str, Any]:
    return {
        "input_tokens": max(counts.prompt_tokens - counts.cached_tokens, 0),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": counts.cached_tokens,
        "output_tokens": counts.completion_tokens,
        "output_tokens_details": {"thinking_tokens": counts.reasoning_tokens},
    }


def _citation(citation: Citation, index: int) -> dict[str, Any]:
    cited = {"title": citation.title, "cited_text": citation.text[:_MAX_CITED_CHARS]}
    if citation.url:
        return {
            "type": "web_search_result_location",
            "url": citation.url,
            "encrypted_index": "",
            **cited,
        }
    return {
        "type": "search_result_location",
        "source": citation.file,
        "search_result_index": index,
        "start_block_index": 0,
        "end_block_index": 1,
        **cited,
    }
