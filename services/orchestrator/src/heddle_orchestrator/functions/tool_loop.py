"""The tool loop: ask the model, run the functions that it calls, ask again, until it answers."""

import json
import time
from collections.abc import AsyncGenerator, Callable, Container, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from google.protobuf.duration_pb2 import Duration
from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle.connector.v1 import connector_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle_runtime.errors import (
    HeddleError,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    to_status,
)
from heddle_runtime.identity.call_metadata import remaining

from heddle_orchestrator.functions import tool_choice
from heddle_orchestrator.functions.budget import Budget, add_usage
from heddle_orchestrator.functions.tool_declarations import ToolDeclarations
from heddle_orchestrator.tools.bindings import BoundTool
from heddle_orchestrator.tools.execution import Events, ToolRun, client_calls, execute
from heddle_orchestrator.tools.function_call import FunctionCall
from heddle_orchestrator.tools.sources import SentText, source_events

_NOTHING = "The function returned nothing."
_MAX_ECHO_CHARS = 300


def result_messages(
    text: str, extra_json: str, called: Sequence[BoundTool], max_chars: int
) -> list[chat_pb2.Message]:
    """Return the messages that a round adds to the conversation.

    Args:
        text: The text beside the calls.
        extra_json: More members of the provider's message.
        called: The calls with their outcomes.
        max_chars: The longest result.
    """
    calls = [each.call for each in called if each.call is not None]
    parts = [chat_pb2.ContentPart(text=text)] if text else []
    message = chat_pb2.Message(
        role=chat_pb2.ROLE_ASSISTANT,
        parts=parts,
        tool_calls=map(_with_valid_arguments, calls),
        extra_json=extra_json,
    )
    return [message, *(_result_message(each, max_chars) for each in called)]


def sent_sources(called: Sequence[BoundTool], max_chars: int) -> list[pb.RunEvent]:
    """Return the events of the sources whose texts are in the messages of `result_messages`."""
    return [
        event
        for each in called
        for event in source_events(
            [each], SentText(each.text[:max_chars]) if len(each.text) > max_chars else None
        )
    ]


def _result_message(called: BoundTool, max_chars: int) -> chat_pb2.Message:
    text = _failure(called) if called.error else called.text or _NOTHING
    if len(text) > max_chars:
        note = f"\n[cut: the first {max_chars} of {len(text)} characters]"
        text = text[:max_chars] + note
    return chat_pb2.Message(
        role=chat_pb2.ROLE_TOOL,
        parts=[chat_pb2.ContentPart(text=text)],
        tool_call_id=called.call.id if called.call else "",
    )


def _failure(called: BoundTool) -> str:
    failure = called.failure
    if failure is None:
        return _NOTHING
    error: dict[str, Any] = {"error": failure.message}
    if failure.violations:
        error["violations"] = [f"{each.field} {each.description}" for each in failure.violations]
    if kind := failure.metadata.get("kind"):
        error["kind"] = kind
    if details := failure.metadata.get("details_json"):
        error["details"] = json.loads(details)
    if called.call and called.call.arguments is None:
        error["you_wrote"] = called.call.proto.arguments_json[:_MAX_ECHO_CHARS]
    return json.dumps(error, ensure_ascii=False)


def _with_valid_arguments(call: FunctionCall) -> chat_pb2.ToolCall:
    """Return a call whose arguments are a JSON object.

    Many servers parse the arguments of earlier calls and fail on anything else.
    """
    if call.arguments is not None:
        return call.proto
    repaired = chat_pb2.ToolCall()
    repaired.CopyFrom(call.proto)
    repaired.arguments_json = "{}"
    return repaired


@dataclass(slots=True)
class ModelTurn:
    """Collects the calls of a round. All other events pass through."""

    number: int
    """The number of the round, from 1."""
    client_functions: Container[str]
    """Names of the client's functions."""
    ids: set[str]
    """The ids of all calls of the run."""
    text: str = ""
    calls: list[chat_pb2.ToolCall] = field(default_factory=list)
    """Calls of the assistant's functions."""
    client_calls: list[chat_pb2.ToolCall] = field(default_factory=list)
    """Calls of the client's functions."""
    done: chat_pb2.Done | None = None
    _pieces: list[str] = field(default_factory=list)

    def take(self, events: Sequence[pb.RunEvent]) -> list[pb.RunEvent]:
        """Collect the calls among events, and return the other events."""
        visible = []
        for event in events:
            match event.WhichOneof("event"):
                case "tool_call":
                    self._take_call(event.tool_call)
                case "done":
                    self.done = event.done
                    self.text = "".join(self._pieces)
                case "text_delta":
                    self._pieces.append(event.text_delta)
                    visible.append(event)
                case _:
                    visible.append(event)
        return visible

    def _take_call(self, call: chat_pb2.ToolCall) -> None:
        if call.name in self.client_functions:
            self.client_calls.append(call)
            return
        # A result refers to its call by id: each call needs a unique one.
        if not call.id or call.id in self.ids:
            renamed = chat_pb2.ToolCall()
            renamed.CopyFrom(call)
            renamed.id = self._free_id()
            call = renamed
        self.ids.add(call.id)
        self.calls.append(call)

    def _free_id(self) -> str:
        number = len(self.calls) + 1
        while (identifier := f"call_{self.number}_{number}") in self.ids:
            number += 1
        return identifier


Generate = Callable[[connector_pb2.GenerateWholeMessageRequest], AsyncGenerator[Events]]
_MAX_CALLS_PER_ROUND = 64
_MAX_NAME_CHARS = 100
_DECLINED = "The user has not confirmed this call, and is not asked again."
_UNREADABLE = "The user cannot confirm this call: its arguments must be a JSON object."
_NO_ANSWER = "The model called functions until it had to stop, and gave no answer."


@dataclass(slots=True)
class ToolLoop:
    """A run of a model that may call functions."""

    generate: Generate
    """Sends one request to the model."""
    run: ToolRun
    tools: ToolDeclarations
    budget: Budget
    max_prompt_chars: int
    called: list[BoundTool] = field(default_factory=list)
    """Collects every call with its outcome."""
    _usage: chat_pb2.Usage = field(default_factory=chat_pb2.Usage)
    _earlier_text: str = ""
    """The text of the last round that had one."""

    async def events(
        self, request: connector_pb2.GenerateWholeMessageRequest
    ) -> AsyncGenerator[Events]:
        """Yield the events of the run. The last event is `done`.

        Args:
            request: The request, with the client's functions. Is changed.
        """
        generation = request.generation
        client_functions = {function.name for function in generation.functions}
        generation.functions.extend(self.tools.declarations)
        tool_choice.begin(generation.options)
        number, last, ids = 1, False, set[str]()
        while True:
            turn = ModelTurn(number, client_functions, ids)
            answered = self.run.confirmations.message.tool_calls
            if number == 1 and any(call.name in self.tools.by_name for call in answered):
                turn.take(self.run.confirmations.events)
            else:
                async with aclosing(self.generate(request)) as batches:
                    async for events in batches:
                        if visible := turn.take(events):
                            yield self._separate_text(visible)
                self._count(turn)
            if last or turn.client_calls or not turn.calls:
                yield self._end(turn)
                return
            bound = [self._bind(call) for call in turn.calls[:_MAX_CALLS_PER_ROUND]]
            if to_confirm := [each for each in bound if each.ask and not each.error]:
                turn.client_calls = list(map(self.run.confirmations.request, to_confirm))
                yield self._end(turn)
                return
            async with aclosing(self._run_calls(bound)) as batches:
                async for events in batches:
                    yield events
            if sources := self._prepare_next_round(generation, turn, bound):
                yield sources
            if self.budget.stopped and self.run.watched:
                yield [pb.RunEvent(status=pb.Status(message=self.budget.stopped))]
            number, last = number + 1, bool(self.budget.stopped)

    def _count(self, turn: ModelTurn) -> None:
        if turn.done is not None and turn.done.HasField("usage"):
            usage = turn.done.usage
            self.budget.take_tokens(usage)
            add_usage(self._usage, usage)
        self._earlier_text = turn.text or self._earlier_text

    def _separate_text(self, events: Events) -> Events:
        """Insert an empty line between the texts of two rounds."""
        if self._earlier_text and any(event.HasField("text_delta") for event in events):
            if not self._earlier_text.endswith("\n"):
                events.insert(0, pb.RunEvent(text_delta="\n\n"))
            self._earlier_text = ""
        return events

    def _end(self, turn: ModelTurn) -> Events:
        events = client_calls(turn.client_calls)
        done = chat_pb2.Done()
        if turn.done is not None:
            done.CopyFrom(turn.done)
        if self._usage.ByteSize():
            done.usage.CopyFrom(self._usage)
        if turn.client_calls:
            done.finish_reason = chat_pb2.FINISH_REASON_TOOL_CALLS
        else:
            done.ClearField("message_extra_json")  # clients repeat only messages with calls
            if done.finish_reason == chat_pb2.FINISH_REASON_TOOL_CALLS:
                done.finish_reason = chat_pb2.FINISH_REASON_STOP
        if self.budget.stopped and not events and not turn.text:
            events.append(pb.RunEvent(text_delta=_NO_ANSWER))
        return [*events, pb.RunEvent(done=done)]

    def _bind(self, proto: chat_pb2.ToolCall) -> BoundTool:
        """Return a call ready to run, or with the error that prevents it."""
        call = FunctionCall.read(proto)
        tool = self.tools.by_name.get(call.name)
        if tool is None:
            bound = BoundTool(call.id, assistant_pb2.ToolBinding(), 0.0, call=call)
            return _refused(bound, NotFoundError(f"Unknown tool: {call.name[:_MAX_NAME_CHARS]}"))
        left = min(self.budget.seconds, remaining(self.run.context) / 2)
        confirmations = self.run.confirmations
        bound = replace(
            tool.bound,
            id=call.id,
            call=call,
            function=tool.function,
            timeout=min(tool.bound.timeout, left),
            ask=tool.ask and call.id not in confirmations.of(tool.bound, tool.function),
        )
        if refusal := self.budget.refusal(call):
            return _refused(bound, InvalidRequestError(refusal))
        if bound.ask and (confirmations.declined or not call.is_readable):
            why = _DECLINED if confirmations.declined else _UNREADABLE
            return _refused(bound, PermissionDeniedError(why))
        return bound

    async def _run_calls(self, bound: Sequence[BoundTool]) -> AsyncGenerator[Events]:
        started = time.monotonic()
        async with aclosing(execute(self.run, bound)) as batches:
            async for events in batches:
                yield events
        for each in bound:
            self.budget.take_outcome(each.call, each.failure)
        self.budget.take_round(time.monotonic() - started)
        self.called += bound

    def _prepare_next_round(
        self,
        generation: connector_pb2.GenerateMessageRequest,
        turn: ModelTurn,
        bound: Sequence[BoundTool],
    ) -> Events:
        """Add the results to the request, and return the events of their sources."""
        size = sum(len(part.text) for message in generation.messages for part in message.parts)
        max_chars = max(self.max_prompt_chars - size - len(turn.text), 0) // (len(bound) + 1)
        extra = turn.done.message_extra_json if turn.done is not None else ""
        generation.messages.extend(result_messages(turn.text, extra, bound, max_chars))
        if self.budget.stopped:
            del generation.functions[:]
            tool_choice.end(generation.options)
        else:
            tool_choice.go_on(generation.options)
        return sent_sources(bound, max_chars)


def _refused(bound: BoundTool, error: HeddleError) -> BoundTool:
    bound.error = to_status(error)
    bound.elapsed = Duration()
    return bound
