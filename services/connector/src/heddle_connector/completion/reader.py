"""Reads responses in OpenAI's chat completions format, streamed or whole."""

import secrets
from collections.abc import Iterable, Sequence

import msgspec
from heddle_runtime.errors import HeddleError, ProviderGarbledError

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
from heddle_connector.generation.events import (
    Batch,
    Done,
    Event,
    FinishReason,
    Logprobs,
    ToolCall,
    Usage,
)
from heddle_connector.http.provider_errors import BAD_JSON, error_in_body

_END_MARK = b"[DONE]"
_ABSENT = (b"", b"null")
MAX_ARGUMENTS_BYTES = 8 * 1024 * 1024
MAX_CALLS = 256
"""Each piece of a call is matched against all calls, which costs time."""
_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}


class CompletionReader:
    """Turns the chunks of one streamed completion into events.

    Args:
        calls: Whether the request declared tools. Then the reader collects passthrough fields,
            which the provider expects in the next request.
    """

    def __init__(self, *, calls: bool = False) -> None:
        self._passthrough = PassthroughFields.of_message() if calls else None
        self.finished = False
        """The answer has ended, or the provider failed. The rest can be ignored."""
        self._failure: HeddleError | None = None
        self._reason = ""
        self._usage: Usage | None = None
        self._model = ""
        self._metadata: dict[str, str | bool] = {}
        self._calls: list[_Call] = []
        self._size = 0

    def read(self, payloads: Iterable[bytes | str]) -> Sequence[Event]:
        """Return the events of some chunks, up to a chunk that fails.

        `check` raises the failure. So the caller receives the text before it.
        """
        batch = Batch()
        try:
            for payload in payloads:
                if payload == _END_MARK:
                    self._finish(batch)
                    break
                chunk = decode(payload)
                self._chunk(chunk, self._members(chunk, payload), batch)
        except BAD_JSON:
            self._fail(
                ProviderGarbledError("The provider sent something that is not a completion.")
            )
        except HeddleError as error:
            self._fail(error)
        return batch.events()

    @property
    def finish_reason(self) -> str:
        """Why the provider ended the answer, in its words; empty until it has."""
        return self._reason

    def end(self, payloads: Iterable[bytes | str] = ()) -> Sequence[Event]:
        """Return the last events of a stream whose last chunks are `payloads`."""
        return self.read([*payloads, _END_MARK])

    def check(self) -> None:
        """Raise the failure, if there is one.

        Raises:
            ProviderGarbledError: The answer has another format, or is not complete.
            HeddleError: The provider sent an error object.
        """
        if self._failure is not None:
            raise self._failure

    def _fail(self, error: HeddleError) -> None:
        self._failure = error
        self.finished = True

    def _members(self, chunk: Chunk, payload: bytes | str) -> Sequence[Members]:
        """Return the members of each choice's message, if passthrough fields are collected."""
        if self._passthrough is None or not chunk.choices:
            return ()
        return message_members(payload)

    def _chunk(self, chunk: Chunk, members: Sequence[Members], batch: Batch) -> None:
        if chunk.error:
            raise error_in_body(chunk.error)
        if not self._model:
            self._read_metadata(chunk)
        if chunk.usage is not None:
            self._usage = _usage(chunk.usage)
        for number, choice in enumerate(chunk.choices or ()):
            if not choice.index:  # the contract has one answer; other choices are ignored
                self._choice(choice, members[number] if members else {}, batch)

    def _read_metadata(self, chunk: Chunk) -> None:
        self._model = chunk.model or ""
        for name in ("id", "system_fingerprint", "service_tier"):
            if value := getattr(chunk, name):
                self._metadata[name] = value

    def _choice(self, choice: Choice, members: Members, batch: Batch) -> None:
        if self._passthrough is not None:
            self._passthrough.take(members)
        message = choice.delta or choice.message
        if message is not None:
            if reasoning := message.reasoning_content or message.reasoning:
                batch.reasoning(reasoning)
            if message.content:
                batch.text(message.content)
            if message.refusal:
                self._metadata["refusal"] = True
                batch.text(message.refusal)
            if message.tool_calls or message.function_call:
                self._tool_calls(message, members, complete=choice.message is not None)
        if (logprobs := bytes(choice.logprobs)) not in _ABSENT:
            batch.add(Logprobs(logprobs.decode()))
        if choice.finish_reason:
            self._reason = choice.finish_reason

    def _tool_calls(self, message: Message, members: Members, *, complete: bool) -> None:
        parts = message.tool_calls or []
        fields = call_members(members)
        if message.function_call:  # the format before `tools`: one call without an id
            parts = [*parts, CallPart(index=0, function=message.function_call)]
        for number, part in enumerate(parts):
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
        return call

    def _find_call(self, part: CallPart) -> "_Call | None":
        """Return the call that `part` continues, by index and, if that is ambiguous, by id."""
        for call in reversed(self._calls):
            if part.index is not None and call.index != part.index:
                continue
            if part.id and call.id and call.id != part.id:  # some give every call index 0
                continue
            if part.index is None and part.id and not call.id:
                continue
            return call
        return None

    def _finish(self, batch: Batch) -> None:
        if not self._reason:
            raise ProviderGarbledError("The provider's answer ended before it was complete.")
        self.finished = True
        for call in self._calls:
            batch.add(call.event())
        reason = _REASONS.get(self._reason, "unknown")
        if reason == "unknown":
            self._metadata["finish_reason"] = self._reason
        if self._calls and reason == "stop":  # OpenAI ends forced function calls with "stop"
            reason = "tool_calls"
        fields = self._passthrough.json() if self._passthrough is not None else ""
        batch.add(Done(reason, self._usage, self._model, self._metadata, fields))


def read_completion(body: bytes, *, calls: bool = False) -> Sequence[Event]:
    """Return the events of a whole completion.

    Args:
        body: The response body.
        calls: Whether the request declared tools, as for `CompletionReader`.

    Raises:
        ProviderGarbledError: The body is not a completion.
        HeddleError: The body is an error object.
    """
    reader = CompletionReader(calls=calls)
    events = reader.end([body])
    reader.check()
    return events


class _Call:
    """A tool call that arrives in pieces."""

    __slots__ = ("_arguments", "_name", "id", "index", "passthrough")

    def __init__(self, index: int | None) -> None:
        self.index = index
        self.id = ""
        self._name = ""
        self._arguments: list[str] = []
        self.passthrough = PassthroughFields.of_call()

    def add(self, call_id: str | None, part: FunctionPart | None) -> None:
        self.id = self.id or call_id or ""
        if part is not None:
            self._name = self._name or part.name or ""
            if (arguments := bytes(part.arguments)) not in _ABSENT:
                self._arguments.append(_text(arguments))

    def event(self) -> ToolCall:
        if not self._name:
            raise ProviderGarbledError("The provider sent a tool call without a name.")
        call_id = self.id or f"call_{secrets.token_hex(12)}"
        return ToolCall(call_id, self._name, "".join(self._arguments), self.passthrough.json())


def _text(arguments: bytes) -> str:
    """Return arguments as text, for providers that send a string and those that send an object."""
    if arguments.startswith(b'"'):
        return msgspec.json.decode(arguments, type=str)
    return arguments.decode()


def _usage(tokens: TokenUsage) -> Usage:
    prompt, completion = tokens.prompt_tokens_details, tokens.completion_tokens_details
    return Usage(
        tokens.prompt_tokens or 0,
        tokens.completion_tokens or 0,
        (prompt.cached_tokens or 0) if prompt else 0,
        (completion.reasoning_tokens or 0) if completion else 0,
    )
