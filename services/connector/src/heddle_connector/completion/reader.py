"""Reads responses in OpenAI's chat completions format, streamed or whole."""

import secrets
from collections.abc import Sequence

from heddle_runtime.errors import ProviderGarbledError, UnavailableError

from heddle_connector.completion.chunks import (
    CallPart,
    Choice,
    Chunk,
    FunctionPart,
    Message,
    TokenUsage,
    decode,
)
from heddle_connector.completion.passthrough_fields import (
    Members,
    PassthroughFields,
    call_members,
    message_members,
)
from heddle_connector.generation.answer_reader import AnswerReader
from heddle_connector.generation.events import (
    AnswerWarning,
    Batch,
    Done,
    FinishReason,
    Logprobs,
    ToolCall,
    Usage,
)
from heddle_connector.http.provider_errors import error_in_body
from heddle_connector.http.tolerant_json import any_json, argument_text, decoded

_END_MARK = b"[DONE]"
_END_MARK_BYTES = 16  # at most, with spaces
_ABSENT = (b"", b"null")
_NONE = ("null", "None")
"""Texts that some servers send instead of null."""
_EMPTY_OBJECT = "{}"
_NO_ARGUMENTS = ("", "null")
MAX_ARGUMENTS_BYTES = 8 * 1024 * 1024
MAX_CALLS = 256
"""Each piece of a call is matched against all calls, which costs time."""
_REASONS: dict[str, FinishReason] = {
    "": "stop",
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "insufficient_system_resource": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "sensitive": "content_filter",
}
_FAILURES = frozenset({"error", "abort", "network_error"})
_CUT_OFF = "The provider had no capacity for the rest of the answer."


class CompletionReader(AnswerReader):
    """Turns the chunks of one completion into events.

    Args:
        calls: Whether the request declared tools. Then the reader collects passthrough fields,
            which the provider expects in the next request.
    """

    def __init__(self, *, calls: bool = False) -> None:
        super().__init__()
        self._passthrough = PassthroughFields.of_message() if calls else None
        self._reason = ""
        self._is_complete = False  # whether the provider ended the answer, or sent it whole
        self._usage: Usage | None = None
        self._model = ""
        self._metadata: dict[str, str | bool] = {}
        self._calls: list[_Call] = []
        self._size = 0

    @property
    def finish_reason(self) -> str:
        """Why the provider ended the answer, in its words; empty until it has."""
        return self._reason

    def _payload(self, payload: bytes | str, batch: Batch) -> None:
        if len(payload) <= _END_MARK_BYTES and payload.strip() == _END_MARK:
            self._is_complete = True
            self._finish(batch)
            return
        chunk = decode(payload)
        self._chunk(chunk, self._members(chunk, payload), batch)
        if chunk.error or (not chunk.choices and chunk.object == "error"):
            raise error_in_body(chunk.error or any_json(payload))

    def _chunk(self, chunk: Chunk, members: Sequence[Members], batch: Batch) -> None:
        if chunk.usage is not None:
            self._count(chunk.usage)
        if chunk.x_groq is not None:
            self._count(chunk.x_groq.usage)
        if not self._model:
            self._read_metadata(chunk)
        for number, choice in enumerate(chunk.choices or ()):
            if not choice.index:  # the contract has one answer; other choices are ignored
                if choice.usage is not None:
                    self._count(choice.usage)
                self._choice(choice, members[number] if members else {}, batch)
                if choice.error:
                    raise error_in_body(choice.error)

    def _members(self, chunk: Chunk, payload: bytes | str) -> Sequence[Members]:
        """Return the members of each choice's message, if passthrough fields are collected."""
        if self._passthrough is None or not chunk.choices:
            return ()
        return message_members(payload)

    def _count(self, tokens: TokenUsage | None) -> None:
        """Store token counts, unless the object has none."""
        if tokens and (tokens.prompt_tokens is not None or tokens.completion_tokens is not None):
            self._usage = _usage(tokens)

    def _read_metadata(self, chunk: Chunk) -> None:
        self._model = chunk.model or ""
        for name in ("id", "system_fingerprint", "service_tier"):
            if value := getattr(chunk, name):
                self._metadata[name] = value

    def _choice(self, choice: Choice, members: Members, batch: Batch) -> None:
        if self._passthrough is not None:
            self._passthrough.take(members)
        message = choice.delta
        if message is None and (message := choice.message) is not None:
            self._is_complete = True
        if message is not None:
            if reasoning := message.reasoning_content or message.reasoning:
                self._add_reasoning(reasoning, batch)
            if message.content:
                batch.text(message.content)
                self._has_content = True
            if message.refusal or message.tool_calls or message.function_call:
                self._refusal(message.refusal, batch)
                self._tool_calls(message, members, complete=choice.message is not None)
        if choice.text:
            self._add_text(choice.text, batch)
        if (logprobs := bytes(choice.logprobs)) not in _ABSENT:
            batch.add(Logprobs(decoded(logprobs)))
        if choice.finish_reason and choice.finish_reason not in _NONE:
            self._reason = choice.finish_reason

    def _refusal(self, text: str | None, batch: Batch) -> None:
        if text:
            self._metadata["refusal"] = True
            self._add_text(text, batch)

    def _tool_calls(self, message: Message, members: Members, *, complete: bool) -> None:
        parts = message.tool_calls or []
        fields = call_members(members)
        if message.function_call:  # the format before `tools`: one call without an id
            parts = [*parts, CallPart(index=0, function=message.function_call)]
        for number, part in enumerate(parts):
            if part.id in _NONE:
                part.id = None
            call = (None if complete else self._find_call(part)) or self._start_call(part)
            call.add(part.id, part.function)
            if number < len(fields):
                call.passthrough.take(fields[number])
            self._size += len(bytes(part.function.arguments)) if part.function else 0
        if self._size > MAX_ARGUMENTS_BYTES:
            reason = f"The provider sends tool calls of more than {MAX_ARGUMENTS_BYTES:,} bytes."
            raise ProviderGarbledError(reason)

    def _start_call(self, part: CallPart) -> "_Call":
        if len(self._calls) == MAX_CALLS:
            raise ProviderGarbledError(f"The provider sends more than {MAX_CALLS} tool calls.")
        call = _Call(part.index)
        self._calls.append(call)
        self._has_content |= bool(part.function and part.function.name)
        return call

    def _find_call(self, part: CallPart) -> "_Call | None":
        """Return the call that `part` continues, by index and, if that is ambiguous, by id."""
        calls = [call for call in self._calls if part.index is None or call.index == part.index]
        if part.id and (same := [call for call in calls if call.id == part.id]):
            return same[-1]
        return calls[-1] if calls and calls[-1].continues_with(part) else None

    def _finish(self, batch: Batch) -> None:
        self._require_content()
        reason = self._reason.lower()
        if reason in _FAILURES:
            raise UnavailableError(
                "The model failed in the middle of its answer. Try again.",
                diagnosis=f"The provider ended the answer with the finish reason {reason!r}.",
            )
        if not reason and not self._is_complete:
            raise ProviderGarbledError("The provider's answer ended before it was complete.")
        for call in self._calls:
            self._add_call(call.event(), batch)
        if not reason and not self._has_content:
            raise ProviderGarbledError("The provider sent an empty answer.")
        finish_reason = _REASONS.get(reason, "unknown")
        if finish_reason == "unknown":
            self._metadata["finish_reason"] = self._reason
        if (
            any(call.name for call in self._calls) and finish_reason == "stop"
        ):  # OpenAI ends forced function calls with "stop"
            finish_reason = "tool_calls"
        if reason == "insufficient_system_resource":
            batch.add(AnswerWarning(_CUT_OFF))
        fields = self._passthrough.json() if self._passthrough is not None else ""
        done = Done(finish_reason, self._usage, self._model, self._metadata, fields)
        self._add_done(done, batch)


class _Call:
    """A tool call that arrives in pieces."""

    __slots__ = ("_arguments", "_depth", "id", "index", "name", "passthrough")

    def __init__(self, index: int | None) -> None:
        self.index = index
        self.id = ""
        self.name = ""
        self._arguments: list[str] = []
        self._depth = 0  # open braces; those in strings count as well
        self.passthrough = PassthroughFields.of_call()

    def continues_with(self, part: CallPart) -> bool:
        """Return whether `part`, which does not have the id of this call, belongs to it.

        Some servers give every call the index 0, others every piece another id.
        """
        function = part.function or FunctionPart()
        if not function.name:
            return True
        is_whole = self._depth == 0 and self._arguments not in ([], [_EMPTY_OBJECT])
        if part.id and (self.id or part.index is None):
            return function.name == self.name and not is_whole
        return not is_whole or bytes(function.arguments) in (*_ABSENT, b'""')

    def add(self, call_id: str | None, part: FunctionPart | None) -> None:
        """Add a piece."""
        self.id = self.id or call_id or ""
        if part is None:
            return
        if part.name and not self._arguments and part.name != self.name:
            is_longer = part.name.startswith(self.name)
            self.name = part.name if is_longer else self.name + part.name
        if bytes(part.arguments) not in _ABSENT and (text := argument_text(bytes(part.arguments))):
            self._arguments.append(text)
            self._depth += text.count("{") - text.count("}")

    def event(self) -> ToolCall:
        """Return the whole call."""
        call_id = self.id or f"call_{secrets.token_hex(12)}"
        return ToolCall(call_id, self.name, self._whole_arguments(), self.passthrough.json())

    def _whole_arguments(self) -> str:
        pieces = self._arguments
        if len(pieces) > 1 and pieces[0] == _EMPTY_OBJECT:  # stands in front of the real ones
            pieces = pieces[1:]
        text = "".join(pieces[:-1])
        if not pieces or pieces[-1] != text:  # else the last piece repeats all
            text += "".join(pieces[-1:])
        return text if text.strip() not in _NO_ARGUMENTS else _EMPTY_OBJECT


def _usage(tokens: TokenUsage) -> Usage:
    prompt, completion = tokens.prompt_tokens_details, tokens.completion_tokens_details
    return Usage(
        tokens.prompt_tokens or 0,
        tokens.completion_tokens or 0,
        (prompt.cached_tokens or 0) if prompt else 0,
        (completion.reasoning_tokens or 0) if completion else 0,
    )
