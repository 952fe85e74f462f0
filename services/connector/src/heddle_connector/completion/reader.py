"""Reading answers in the dialect of OpenAI's chat completions, streamed or whole."""

import secrets
from collections.abc import Iterable, Sequence

import msgspec
from heddle_runtime.errors import HeddleError, ProviderGarbledError

from heddle_connector.completion.chunks import (
    CallPart,
    Choice,
    Chunk,
    Consumed,
    FunctionPart,
    Message,
    decode,
)
from heddle_connector.completion.passthrough_fields import (
    Extras,
    Members,
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

_END = b"[DONE]"
_ABSENT = (b"", b"null")
_LONGEST_ARGUMENTS = 8 * 1024 * 1024
_MOST_CALLS = 256
"""Whose piece it is, is looked for among all of them."""
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
        secret: The request's authorization, which no error may repeat.
        calls: Whether functions were offered: then what the provider wants to read again with its
            calls is kept.
    """

    def __init__(self, secret: str = "", *, calls: bool = False) -> None:
        self._secret = secret
        self._extras = Extras.of_message() if calls else None
        self.over = False
        """Nothing of use follows: the provider said so, or failed."""
        self._failure: HeddleError | None = None
        self._reason = ""
        self._usage: Usage | None = None
        self._model = ""
        self._metadata: dict[str, str | bool] = {}
        self._calls: list[_Call] = []
        self._size = 0

    def read(self, payloads: Iterable[bytes | str]) -> Sequence[Event]:
        """Return the events of some chunks, up to the one that fails.

        What fails is raised by `check`: the text that came with it in one piece is worth having.
        """
        batch = Batch()
        try:
            for payload in payloads:
                if payload == _END:
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

    def end(self, payloads: Iterable[bytes | str] = ()) -> Sequence[Event]:
        """Return the last events of a stream that ended with `payloads`."""
        return self.read([*payloads, _END])

    def check(self) -> None:
        """Raise what went wrong, if something did.

        Raises:
            ProviderGarbledError: The answer is not in the dialect, or not complete.
            HeddleError: The provider sent an error object.
        """
        if self._failure is not None:
            raise self._failure

    def _fail(self, error: HeddleError) -> None:
        self._failure = error
        self.over = True

    def _members(self, chunk: Chunk, payload: bytes | str) -> Sequence[Members]:
        """Return the members of each choice's message, nothing if they are not wanted."""
        if self._extras is None or not chunk.choices:
            return ()
        return message_members(payload)

    def _chunk(self, chunk: Chunk, members: Sequence[Members], batch: Batch) -> None:
        if chunk.error:
            raise error_in_body(chunk.error, self._secret)
        if not self._model:
            self._introduce(chunk)
        if chunk.usage is not None:
            self._usage = _usage(chunk.usage)
        for number, choice in enumerate(chunk.choices or ()):
            if not choice.index:  # the contract has one answer; further ones are not read
                self._choice(choice, members[number] if members else {}, batch)

    def _introduce(self, chunk: Chunk) -> None:
        self._model = chunk.model or ""
        for name in ("id", "system_fingerprint", "service_tier"):
            if value := getattr(chunk, name):
                self._metadata[name] = value

    def _choice(self, choice: Choice, members: Members, batch: Batch) -> None:
        if self._extras is not None:
            self._extras.take(members)
        message = choice.delta or choice.message
        if message is not None:
            if thought := message.reasoning_content or message.reasoning:
                batch.reasoning(thought)
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
        extras = call_members(members)
        if message.function_call:  # the form before tools: one call without an id
            parts = [*parts, CallPart(index=0, function=message.function_call)]
        for number, part in enumerate(parts):
            call = (None if complete else self._begun(part)) or self._begin(part)
            call.add(part.id, part.function)
            if number < len(extras):
                call.extras.take(extras[number])
            self._size += len(bytes(part.function.arguments)) if part.function else 0
        if self._size > _LONGEST_ARGUMENTS:
            raise ProviderGarbledError("The provider sends a tool call without an end.")

    def _begin(self, part: CallPart) -> "_Call":
        if len(self._calls) == _MOST_CALLS:
            raise ProviderGarbledError(f"The provider sends more than {_MOST_CALLS} tool calls.")
        call = _Call(part.index)
        self._calls.append(call)
        return call

    def _begun(self, part: CallPart) -> "_Call | None":
        """Return the call that `part` goes on with, by index and, where that is vague, by id."""
        for call in reversed(self._calls):
            if part.index is not None and call.index != part.index:
                continue
            if part.id and call.id and call.id != part.id:  # some give every call the index 0
                continue
            if part.index is None and part.id and not call.id:
                continue
            return call
        return None

    def _finish(self, batch: Batch) -> None:
        if not self._reason:
            raise ProviderGarbledError("The provider's answer ended before it was complete.")
        self.over = True
        for call in self._calls:
            batch.add(call.event())
        reason = _REASONS.get(self._reason, "unknown")
        if reason == "unknown":
            self._metadata["finish_reason"] = self._reason
        if self._calls and reason == "stop":  # a forced function ends in "stop"
            reason = "tool_calls"
        extras = self._extras.json() if self._extras is not None else ""
        batch.add(Done(reason, self._usage, self._model, self._metadata, extras))


def read_completion(body: bytes, secret: str = "", *, calls: bool = False) -> Sequence[Event]:
    """Return the events of a whole completion.

    Args:
        body: The reply.
        secret: The request's authorization, which no error may repeat.
        calls: Whether functions were offered, as of `CompletionReader`.

    Raises:
        ProviderGarbledError: It is not a completion.
        HeddleError: It is an error object in place of one.
    """
    reader = CompletionReader(secret, calls=calls)
    events = reader.end([body])
    reader.check()
    return events


class _Call:
    """A tool call of which pieces come in."""

    __slots__ = ("_arguments", "_name", "extras", "id", "index")

    def __init__(self, index: int | None) -> None:
        self.index = index
        self.id = ""
        self._name = ""
        self._arguments: list[str] = []
        self.extras = Extras.of_call()

    def add(self, given_id: str | None, part: FunctionPart | None) -> None:
        self.id = self.id or given_id or ""
        if part is not None:
            self._name = self._name or part.name or ""
            if (arguments := bytes(part.arguments)) not in _ABSENT:
                self._arguments.append(_text(arguments))

    def event(self) -> ToolCall:
        if not self._name:
            raise ProviderGarbledError("The provider sent a tool call without a name.")
        made = self.id or f"call_{secrets.token_hex(12)}"
        return ToolCall(made, self._name, "".join(self._arguments), self.extras.json())


def _text(arguments: bytes) -> str:
    """Return arguments as text, whether they came as a string or as the object itself."""
    if arguments.startswith(b'"'):
        return msgspec.json.decode(arguments, type=str)
    return arguments.decode()


def _usage(given: Consumed) -> Usage:
    prompt, completion = given.prompt_tokens_details, given.completion_tokens_details
    return Usage(
        given.prompt_tokens or 0,
        given.completion_tokens or 0,
        (prompt.cached_tokens or 0) if prompt else 0,
        (completion.reasoning_tokens or 0) if completion else 0,
    )
