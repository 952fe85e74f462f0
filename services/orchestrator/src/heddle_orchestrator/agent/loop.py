"""The loop: decide, run, absorb, until there is an answer. It always ends in exactly one."""

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

import grpc
import structlog
from google.protobuf.duration_pb2 import Duration
from heddle.chat.v1 import chat_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.tool.v1 import tool_pb2
from heddle_runtime.call_metadata import remaining
from heddle_runtime.errors import DeadlineError, HeddleError, UnavailableError, from_rpc
from heddle_runtime.frontend_payloads import Result, ToolOutput, shown, written
from heddle_runtime.redaction import redact

from heddle_orchestrator.agent import outputs
from heddle_orchestrator.agent.asking import QueryWorkers, add
from heddle_orchestrator.agent.assessing import Offered, offered
from heddle_orchestrator.agent.brief import sources
from heddle_orchestrator.agent.decision import (
    SUMMARIZE,
    Candidate,
    Choice,
    Decider,
    Decision,
    UndecidedError,
)
from heddle_orchestrator.agent.environment import Failed, members
from heddle_orchestrator.agent.guard import RepeatGuard
from heddle_orchestrator.agent.policy import is_greeting, respond
from heddle_orchestrator.agent.responses import Order, TextResponse
from heddle_orchestrator.agent.rules import decided
from heddle_orchestrator.agent.state import Past, State
from heddle_orchestrator.agent.summary import summarize
from heddle_orchestrator.agent.validation import checked
from heddle_orchestrator.bindings import Bound, stop_on_failure
from heddle_orchestrator.call import Call
from heddle_orchestrator.execution import Events, ToolRun, execute
from heddle_orchestrator.functions.budget import Budget

log = structlog.get_logger(__name__)
_LONGEST_INPUT = 1_000
_LONGEST_WHY = 300


@dataclass(slots=True)
class Loop:
    """One run. Everything that it finds is in `state`, which belongs to it alone."""

    run: ToolRun
    bound: Sequence[Bound]
    decider: Decider
    asking: QueryWorkers
    response: TextResponse
    budget: Budget
    state: State
    most_chars: int
    """The longest prompt."""
    called: list[Bound]
    """Gets every tool that ran, and what became of it."""
    _told: dict[str, str] = field(default_factory=dict)
    """The tools of bindings whose failure to be asked was told."""

    async def events(self, order: Order) -> AsyncGenerator[Events]:
        """Yield what happens until there is an answer. The last event is `done`.

        Args:
            order: What the model is asked in the end, but for what is found. Is changed.
        """
        while True:
            began = time.monotonic()
            found = await offered(
                self.run,
                self.bound,
                self.state,
                compare=self.decider.compares and not self.state.history,
            )
            if failed := self._unasked(found):
                yield failed
            before = chat_pb2.Usage()
            before.CopyFrom(self.asking.usage)
            decision = self._forced(found.tools) or await self._decided(found.tools)
            yield [self._event(decision, found.tools, time.monotonic() - began, before)]
            if decision.ends:
                break
            known = {each.name: each for each in found.tools}
            earlier = len(self.called)
            async with aclosing(self._carry_out(decision.choices, known)) as happened:
                async for events in happened:
                    yield events
            if ended := self._ended(self.called[earlier:], known):
                yield ended
                return
            self.state.iterations += 1
            self.budget.take_round(time.monotonic() - began)
            if self.budget.stopped and self.run.watched:
                yield [pb.RunEvent(status=pb.Status(message=self.budget.stopped))]
        wanted = decision.choices[0].inputs.get("include_sources", True)
        answer = self.response.events(
            order, self.state.environment, self.asking.usage, include_sources=wanted is not False
        )
        async with aclosing(answer) as happened:
            async for events in happened:
                yield events

    def _unasked(self, found: Offered) -> Events:
        """Take note of tools that could not be asked whether they can be chosen."""
        events: Events = []
        for binding in self._told.keys() - found.failed.keys():
            self.state.environment.errors.pop(self._told.pop(binding), None)
        for binding, (tool, failed) in found.failed.items():
            if binding not in self._told:
                self._told[binding] = tool
                self.state.environment.fail(tool, failed)
                events.append(self._output(outputs.failed(tool, failed)))
        return events

    def _forced(self, tools: Sequence[Candidate]) -> Decision | None:
        """Return what is not left to a decider."""
        if self.budget.stopped:
            return respond(self.budget.stopped.capitalize() + ".")
        if triggered := self._triggered(tools):
            return triggered
        if why := RepeatGuard(self.state).stuck():
            return respond(why.capitalize() + ".")
        if not self.state.history and is_greeting(self.state.prompt):
            return respond("Nothing is asked that could be looked up.")
        if not any(tool.bound is not None for tool in tools):
            return respond("No tool is available.")
        return None

    def _triggered(self, tools: Sequence[Candidate]) -> Decision | None:
        choices, causes = [], []
        for tool in tools:
            if tool.trigger is None:
                continue
            cause, inputs = tool.trigger
            key = (tool.bound.id if tool.bound else tool.name, cause)
            if key not in self.state.fired:
                self.state.fired.add(key)
                choices.append(Choice(tool.name, inputs))
                causes.append(cause or f"{tool.name} asks for it")
        if not choices:
            return None
        return Decision(tuple(choices), f"It must run now: {'; '.join(causes)}.", "trigger")

    async def _decided(self, tools: Sequence[Candidate]) -> Decision:
        """Let the decider choose, and the rules where it cannot, or may not so."""
        guard = RepeatGuard(self.state)
        try:
            return checked(await self.decider.decide(self.asking, self.state, tools), tools, guard)
        except UndecidedError as error:
            why = str(error)
        except HeddleError as error:
            why = error.message
        except grpc.aio.AioRpcError as error:
            why = from_rpc(error).message
        except TimeoutError:
            why = "The model takes too long to decide."
        except Exception:
            log.exception("decider failed", decider=self.decider.name)
            why = f"The decider {self.decider.name!r} failed."
        ruled = decided(self.state, tools)
        if not ruled.ends:
            try:
                ruled = checked(ruled, tools, guard)
            except UndecidedError:
                ruled = respond("There is nothing else to try.", ruled.decider)
        return replace(ruled, rejected=redact(why)[:_LONGEST_WHY])

    async def _carry_out(
        self, choices: Sequence[Choice], known: dict[str, Candidate]
    ) -> AsyncGenerator[Events]:
        if any(choice.tool == SUMMARIZE for choice in choices):
            inputs = next(c.inputs for c in choices if c.tool == SUMMARIZE)
            yield [await self._summarize(inputs)]
        bound = [
            self._bound(number, choice, known[choice.tool])
            for number, choice in enumerate(choices, start=1)
            if choice.tool != SUMMARIZE
        ]
        if not bound:
            return
        request = tool_pb2.RunContext()
        request.CopyFrom(self.run.request)
        request.tree.CopyFrom(self.state.told())
        async with aclosing(execute(replace(self.run, request=request), bound)) as happened:
            async for events in happened:
                yield events
        self.called += bound
        stop_on_failure(bound)
        yield [self._absorb(each) for each in bound]

    async def _summarize(self, inputs: Any) -> pb.RunEvent:  # noqa: ANN401 - JSON of a model's
        length = inputs.get("max_length", 200)
        text = await summarize(self.asking, self.state, length, self.most_chars)
        message = "Everything that was found is now a summary."
        return self._output(
            Result([{"summary": text}], "summary", llm_message=message, tool=SUMMARIZE)
        )

    def _bound(self, number: int, choice: Choice, tool: Candidate) -> Bound:
        """Return a tool ready to run."""
        assert tool.bound is not None  # noqa: S101 - what has none is carried out elsewhere
        told = chat_pb2.ToolCall(
            id=f"agent_{self.state.iterations + 1}_{number}",
            name=tool.name,
            arguments_json=written(dict(choice.inputs)),
        )
        left = min(self.budget.seconds, remaining(self.run.context) / 2)
        return replace(
            tool.bound,
            id=told.id,
            call=Call.read(told),
            function=tool.function,
            timeout=min(tool.bound.timeout, left),
        )

    def _absorb(self, ran: Bound) -> pb.RunEvent:
        """Put what a tool found, or how it failed, where the next decision sees it."""
        inputs = ran.call.arguments if ran.call and ran.call.arguments else {}
        failure = ran.failure
        self.budget.take_outcome(failed=failure is not None)
        if failure is not None:
            failed = _failed(failure)
            self.state.environment.fail(ran.tool, failed)
            self.state.history.append(Past(ran.tool, inputs, 0, failed=True))
            return self._output(outputs.failed(ran.tool, failed))
        result = ran.result or tool_pb2.ToolResult()
        new = self.state.environment.add(ran.tool, result)
        self.state.history.append(Past(ran.tool, inputs, new, failed=False))
        return self._output(outputs.found(ran.tool, result))

    def _output(self, output: ToolOutput) -> pb.RunEvent:
        return outputs.event(output, self.response.query_id)

    def _ended(self, ran: Sequence[Bound], known: dict[str, Candidate]) -> Events:
        """Return the end of the run if one of these tools ends it with its text."""
        for each in ran:
            if each.call and each.result and each.text and known[each.call.name].end:
                done = chat_pb2.Done(finish_reason=chat_pb2.FINISH_REASON_STOP)
                cited = sources(each.result.objects_json)
                ended = self.response.end(each.text, cited, done, self.asking.usage)
                return [pb.RunEvent(text_delta=each.text), *ended]
        return []

    def _event(
        self,
        decision: Decision,
        tools: Sequence[Candidate],
        seconds: float,
        before: chat_pb2.Usage,
    ) -> pb.RunEvent:
        bindings = {each.name: each.bound.binding_id for each in tools if each.bound is not None}
        elapsed = Duration()
        elapsed.FromNanoseconds(int(seconds * 1e9))
        told = pb.Decision(
            iteration=self.state.iterations + 1,
            choices=[
                pb.Choice(
                    tool=choice.tool,
                    binding_id=bindings.get(choice.tool, ""),
                    inputs_json=written(shown(dict(choice.inputs), _LONGEST_INPUT)),
                )
                for choice in decision.choices
            ],
            reason=redact(decision.reason),
            decider=decision.decider,
            rejected=decision.rejected,
            elapsed=elapsed,
        )
        used = chat_pb2.Usage()
        add(used, self.asking.usage)
        add(used, before, sign=-1)
        if used.ByteSize():
            told.usage.CopyFrom(used)
        return pb.RunEvent(decision=told)


def _failed(failure: HeddleError) -> Failed:
    details = members(failure.metadata.get("details_json", ""))
    given = details.get("recoverable")
    again = isinstance(failure, (UnavailableError, DeadlineError))
    suggestion = details.get("suggestion", "")
    return Failed(
        failure.message,
        given if isinstance(given, bool) else again,
        suggestion if isinstance(suggestion, str) else "",
    )
