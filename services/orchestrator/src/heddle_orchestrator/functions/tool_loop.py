"""The tool loop: ask the model, run the functions that it calls, ask again, until it answers."""

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

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
from heddle_orchestrator.functions.model_turn import ModelTurn
from heddle_orchestrator.functions.tool_declarations import ToolDeclarations
from heddle_orchestrator.functions.tool_results import result_messages, sent_sources
from heddle_orchestrator.tools.bindings import BoundTool
from heddle_orchestrator.tools.execution import Events, ToolRun, client_calls, execute
from heddle_orchestrator.tools.function_call import FunctionCall

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
