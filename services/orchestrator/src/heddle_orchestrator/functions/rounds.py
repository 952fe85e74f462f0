"""The loop: the model, the functions that it calls, the model again, until it answers."""

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from dataclasses import replace as replaced

from google.protobuf.duration_pb2 import Duration
from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle.connector.v1 import connector_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle_runtime.call_metadata import remaining
from heddle_runtime.errors import HeddleError, InvalidRequestError, NotFoundError, to_status

from heddle_orchestrator.bindings import Bound
from heddle_orchestrator.call import Call
from heddle_orchestrator.execution import Events, ToolRun, execute
from heddle_orchestrator.functions import choice, replies
from heddle_orchestrator.functions.budget import Budget
from heddle_orchestrator.functions.offers import Offers
from heddle_orchestrator.functions.turn import Turn

Generate = Callable[[connector_pb2.GenerateWholeMessageRequest], AsyncGenerator[Events]]
_MOST_CALLS = 64
_ENOUGH = "This call was made before with the same arguments. Answer with what you know."
_NO_ANSWER = "The model called functions until it had to stop, and gave no answer."


@dataclass(slots=True)
class Rounds:
    """Lets a model answer that may call functions."""

    generate: Generate
    """Asks the model once."""
    run: ToolRun
    offers: Offers
    budget: Budget
    max_prompt_chars: int
    called: list[Bound] = field(default_factory=list)
    """Every call so far and what became of it."""
    _usage: chat_pb2.Usage = field(default_factory=chat_pb2.Usage)
    _spoke: str = ""
    """The end of what the model said in earlier rounds."""

    async def events(
        self, order: connector_pb2.GenerateWholeMessageRequest
    ) -> AsyncGenerator[Events]:
        """Yield what happens until there is an answer. The last event is `done`.

        Args:
            order: What to generate, the client's functions included. Is changed.
        """
        generation = order.generation
        clients = {function.name for function in generation.functions}
        generation.functions.extend(self.offers.declarations)
        choice.begin(generation.options)
        number, last, ids = 1, False, set[str]()
        while True:
            turn = Turn(number, clients, ids)
            async with aclosing(self.generate(order)) as generated:
                async for events in generated:
                    if shown := turn.take(events):
                        yield self._apart(shown)
            self._take(turn)
            if last or turn.theirs or not turn.ours:
                yield self._end(turn)
                return
            bound = [self._bound(call) for call in turn.ours[:_MOST_CALLS]]
            async with aclosing(self._call(bound)) as happened:
                async for events in happened:
                    yield events
            self._prepare(generation, turn, bound)
            if self.budget.stopped and self.run.watched:
                yield [pb.RunEvent(status=pb.Status(message=self.budget.stopped))]
            number, last = number + 1, bool(self.budget.stopped)

    def _take(self, turn: Turn) -> None:
        if turn.done is not None and turn.done.HasField("usage"):
            used = turn.done.usage
            self.budget.take_tokens(used)
            for name in ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens"):
                setattr(self._usage, name, getattr(self._usage, name) + getattr(used, name))
        self._spoke = turn.text or self._spoke

    def _apart(self, shown: Events) -> Events:
        """Put an empty line between what the model says before its calls and after."""
        if self._spoke and any(event.HasField("text_delta") for event in shown):
            if not self._spoke.endswith("\n"):
                shown.insert(0, pb.RunEvent(text_delta="\n\n"))
            self._spoke = ""
        return shown

    def _end(self, turn: Turn) -> Events:
        events = [pb.RunEvent(tool_call=call) for call in turn.theirs]
        done = chat_pb2.Done()
        if turn.done is not None:
            done.CopyFrom(turn.done)
        if self._usage.ByteSize():
            done.usage.CopyFrom(self._usage)
        if turn.theirs:
            done.finish_reason = chat_pb2.FINISH_REASON_TOOL_CALLS
        else:
            done.ClearField("message_extra_json")  # nobody repeats a message without calls
            if done.finish_reason == chat_pb2.FINISH_REASON_TOOL_CALLS:
                done.finish_reason = chat_pb2.FINISH_REASON_STOP
        if self.budget.stopped and not events and not turn.text:
            events.append(pb.RunEvent(text_delta=_NO_ANSWER))
        return [*events, pb.RunEvent(done=done)]

    def _bound(self, told: chat_pb2.ToolCall) -> Bound:
        """Return a call ready to run, or with the reason why it is not run."""
        call = Call.read(told)
        offer = self.offers.by_name.get(call.name)
        if offer is None:
            bound = Bound(call.id, assistant_pb2.ToolBinding(), 0.0, call=call)
            return _refused(bound, NotFoundError(f"Unknown tool: {call.name[:100]}"))
        left = min(self.budget.seconds, remaining(self.run.context) / 2)
        bound = replaced(
            offer.bound,
            id=call.id,
            call=call,
            function=offer.function,
            timeout=min(offer.bound.timeout, left),
        )
        return _refused(bound, InvalidRequestError(_ENOUGH)) if self.budget.refuses(call) else bound

    async def _call(self, bound: Sequence[Bound]) -> AsyncGenerator[Events]:
        began = time.monotonic()
        async with aclosing(execute(self.run, bound)) as happened:
            async for events in happened:
                yield events
        for each in bound:
            self.budget.take_outcome(failed=each.error is not None)
        self.budget.take_round(time.monotonic() - began)
        self.called += bound

    def _prepare(
        self,
        generation: connector_pb2.GenerateMessageRequest,
        turn: Turn,
        bound: Sequence[Bound],
    ) -> None:
        """Make the request of the next round."""
        size = sum(len(part.text) for message in generation.messages for part in message.parts)
        most = max(self.max_prompt_chars - size - len(turn.text), 0) // (len(bound) + 1)
        extra = turn.done.message_extra_json if turn.done is not None else ""
        generation.messages.extend(replies.conversation(turn.text, extra, bound, most))
        if self.budget.stopped:
            del generation.functions[:]
            choice.end(generation.options)
        else:
            choice.go_on(generation.options)


def _refused(bound: Bound, error: HeddleError) -> Bound:
    bound.error = to_status(error)
    bound.elapsed = Duration()
    return bound
