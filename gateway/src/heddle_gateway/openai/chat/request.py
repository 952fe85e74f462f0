"""Translates the body of a chat completion into a request to the orchestrator."""

import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, ClassVar

import msgspec
from heddle.orchestrator.v1.orchestrator_pb2 import (
    RunCompletionRequest,
    RunEvent,
    RunWholeCompletionRequest,
)
from heddle_runtime.contract.conversations import RAG_TASK
from msgspec.structs import replace

from heddle_gateway.http.error_responses import ErrorResponse, invalid
from heddle_gateway.http.json_text import Place, parse
from heddle_gateway.http.models import validate
from heddle_gateway.http.raw import RawRequest, RawResponse
from heddle_gateway.openai.chat.aggregation import Completion, StreamEncoder
from heddle_gateway.openai.chat.event_encoder import Answer, Encoder
from heddle_gateway.openai.chat.messages import add_conversation
from heddle_gateway.openai.chat.options import LEFT_OUT, fill_options, functions, legacy_functions
from heddle_gateway.openai.chat.run_events import new_id
from heddle_gateway.openai.chat.schema import ChatBody, ConversationBody
from heddle_gateway.state import State

_candidate = attrgetter("candidate")


class Candidates(Encoder):
    """Gives the events of each answer to an encoder of its own."""

    def __init__(self, choices: Sequence[StreamEncoder | Completion]) -> None:
        """Begin the answers; the first one also has what precedes them."""
        self._choices = choices
        self._first, *others = choices
        self.report = self._first.report
        for other in others:
            other.join(self._first)

    @property
    def finished(self) -> bool:
        """Whether all have ended."""
        return all(each.finished for each in self._choices)

    @property
    def tools_ran(self) -> bool:
        """Whether another attempt would run tools again."""
        return self._first.tools_ran

    def encode(self, events: Iterable[RunEvent]) -> bytes:
        """Return the frames of events that arrived together."""
        groups = groupby(events, _candidate)
        return b"".join(self._choices[number].encode(its) for number, its in groups)

    def end(self) -> bytes:
        """Return the frames that end a stream, with the tokens of all answers."""
        total, *others = (each.done.usage for each in self._choices if each.done is not None)
        for usage in others:
            for field, value in usage.ListFields():
                setattr(total, field.name, getattr(total, field.name) + value)
        return self._first.end()

    def body(self) -> bytes:
        """Return the answers as one completion."""
        whole = [each for each in self._choices if isinstance(each, Completion)]
        completion, *others = (each.completion() for each in whole)
        for other in others:
            completion["choices"] += other["choices"]
        return msgspec.json.encode(completion)

    def failure(self, error: ErrorResponse) -> bytes:
        """Return the frames that end a stream which failed."""
        return self._first.failure(error)


About = tuple[str, int, str]
"""The identifier, the time and the model of a response."""
MAX_PARTS_IN_ALL = 10_000
_PREFIX = "lamb_assistant."
# Open WebUI's prompts for its tasks begin with this, and so does a question about a file. It may
# remove `metadata.task`.
_TASK = "### Task:\n"


class ChatRequest(msgspec.Struct, frozen=True):
    """A parsed request."""

    ID_PREFIX: ClassVar[str] = "chatcmpl"
    whole: RunWholeCompletionRequest
    """The request, for a response that is not streamed."""
    model: str
    """The name by which the client knows the assistant."""
    stream: bool
    usage: bool
    """Whether a streamed response ends with its usage."""
    task: bool = False
    """Whether it is a task of Open WebUI, not a turn of a conversation."""
    debug: bool = False
    """Whether the client wants the prompt instead of a completion."""
    has_parts: bool = False
    """Whether a message has other content than text, or several texts."""
    legacy: bool = False
    """Whether calls are returned in OpenAI's older form."""

    warnings: Sequence[str] = ()
    """Sentences about the request, for users."""
    background: bool = False
    """Whether the run continues without the client."""
    places: Sequence[str] = ()
    """Where the content of each message is in a body of another form than a chat completion's."""

    def encoder(self, answer: Answer, *, streamed: bool = True) -> Encoder:
        """Return what writes the response, streamed or whole."""
        about = new_id(self.ID_PREFIX, "-"), int(time.time()), self.model
        make = self._streamed_choice if streamed else self._choice
        if self.run.candidates <= 1:
            return make(answer, about)
        numbers = range(self.run.candidates)
        return Candidates([make(replace(answer, index=each), about) for each in numbers])

    def _choice(self, answer: Answer, about: About) -> Completion:
        """Return what writes a choice of a response that is not streamed."""
        return Completion(answer, *about, legacy=self.legacy, trace=self.run.include_trace)

    def _streamed_choice(self, answer: Answer, about: About) -> StreamEncoder:
        """Return what writes a choice of a streamed response."""
        trace, legacy = self.run.include_trace, self.legacy
        return StreamEncoder(*about, answer, usage=self.usage, trace=trace, legacy=legacy)

    def adopt(self, texts: Mapping[str, str]) -> None:
        """Store the texts of files, by their places, instead of their contents."""

    async def detach(self, state: State, request: RawRequest, answer: Answer) -> RawResponse | None:
        """Begin a run in the background; return its response, None if its events were sent."""
        raise NotImplementedError

    async def end(self, state: State, encoder: Encoder) -> bytes:
        """Return the frames that end a stream, after the response is stored if it is."""
        return encoder.end()

    @property
    def run(self) -> RunCompletionRequest:
        """The request, for a response that is streamed."""
        return self.whole.run

    @property
    def notes(self) -> list[RunEvent]:
        """The warnings as events."""
        return [RunEvent(warning=each) for each in self.warnings]

    def replace(self, run: RunCompletionRequest) -> "ChatRequest":
        """Return this request with another run."""
        return replace(self, whole=RunWholeCompletionRequest(run=run))


def parse_request(
    body: bytes, assistant: str | None = "", parsed: tuple[dict[str, Any], Place] | None = None
) -> ChatRequest:
    """Translate the body of `POST /v1/chat/completions`.

    Args:
        body: The body.
        assistant: The assistant, if the path or the query names it; None if the query should.
        parsed: The members of the body and its place, if they are known.

    Raises:
        InvalidRequestError: The body is invalid; the first violation's field is OpenAI's `param`.
    """
    if assistant is None:
        raise invalid("assistant", "is required", "The query parameter")
    members, place = parsed or parse(body)
    used = _replace_prompt(members, place)
    parts = count_parts(members.get("messages"), place / "messages")
    chat = validate(ConversationBody if assistant else ChatBody, members)
    whole = RunWholeCompletionRequest()
    run = whole.run  # filled in place: a conversation can be long
    model = chat.model or f"{_PREFIX}{assistant.removeprefix(_PREFIX)}"
    run.assistant_reference = assistant or model
    if chat.n is not None and chat.n > 1:
        run.candidates = chat.n
    add_conversation(run.messages, chat.messages, members["messages"], place / "messages")
    stream = bool(chat.stream)
    if task := is_task(members, stream=stream):
        used.add("metadata")  # of Open WebUI's task
    if isinstance(chat.trace, bool):
        used.add("trace")  # else it is an object for the provider
        request_trace(run, enabled=chat.trace)
    has_legacy = chat.functions is not None or chat.function_call is not None
    if chat.tools:
        run.functions.extend(functions(chat.tools, place / "tools"))
    elif has_legacy:
        run.functions.extend(legacy_functions(chat, place))
    fill_options(run.options, chat, members, place, used)
    return ChatRequest(
        whole,
        model,
        stream,
        usage=stream and _includes_usage(chat),
        task=task,
        debug=chat.debug_bypass is True,
        has_parts=parts > 0,
        legacy=has_legacy and not chat.tools,
        warnings=(LEFT_OUT,) if has_legacy and chat.tools else (),
    )


def request_trace(run: RunCompletionRequest, *, enabled: bool) -> None:
    """Add the trace of a run to its response, or leave it out."""
    run.include_trace = run.include_trace_texts = enabled


def _replace_prompt(members: dict[str, Any], place: Place) -> set[str]:
    """Replace the `prompt` of older clients, alone or in `params`, with a message.

    Return the members of the body that contained it.
    """
    if members.get("messages") is not None:
        return set()
    steps: tuple[str, ...] = ("prompt",)
    prompt, params = members.get("prompt"), members.get("params")
    if not isinstance(params, dict | None):
        raise (place / "params").invalid("must be an object")
    if prompt is None and params is not None:
        steps, prompt = ("params", "prompt"), params.get("prompt")
    if prompt is None:
        return set()
    if not isinstance(prompt, str):
        raise place.at(*steps).invalid("must be a string")
    members["messages"] = [{"role": "user", "content": prompt}]
    return {steps[0]}


def count_parts(messages: object, place: Place) -> int:
    """Return the number of parts.

    Too many are rejected: validating one takes a microsecond, during which others wait.
    """
    count = 0
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict):
            lists = (message.get("content"), message.get("output"))
            count += sum(len(each) for each in lists if isinstance(each, list))
    if count > MAX_PARTS_IN_ALL:
        raise place.invalid(f"must have at most {MAX_PARTS_IN_ALL:,} parts in all")
    return count


def is_task(members: dict[str, Any], *, stream: bool) -> bool:
    """Return whether a request is a task of Open WebUI, not a turn of a conversation."""
    metadata = members.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("task"), str) and metadata["task"]:
        return True
    messages = members.get("messages")
    if stream or not isinstance(messages, list) or len(messages) != 1:
        return False
    content = messages[0].get("content") if isinstance(messages[0], dict) else None
    if not isinstance(content, str) or content.startswith(RAG_TASK):
        return False
    return content.startswith(_TASK)


def _includes_usage(chat: ConversationBody) -> bool:
    options = chat.stream_options
    return options is not None and options.include_usage is True
