"""The loop of an agent run: decide, run tools, store results, until the answer."""

import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

import grpc
import structlog
from heddle.assistant.v1.assistant_pb2 import Assistant
from heddle.chat.v1 import chat_pb2
from heddle.connector.v1 import connector_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.tool.v1 import tool_pb2
from heddle_runtime.contract.frontend_payloads import Result, ToolOutput, shown, written
from heddle_runtime.contract.json_text import members
from heddle_runtime.errors import HeddleError, from_rpc, to_status
from heddle_runtime.identity.call_metadata import remaining
from heddle_runtime.redaction import redact
from heddle_runtime.telemetry import spans
from heddle_runtime.telemetry.metrics import table

from heddle_orchestrator.agent import output_events
from heddle_orchestrator.agent.availability import (
    DEFAULT_SUMMARY_WORDS,
    Availability,
    available_tools,
)
from heddle_orchestrator.agent.context_builder import Citation, sources
from heddle_orchestrator.agent.decision import (
    SUMMARIZE,
    Candidate,
    Choice,
    Decision,
    Router,
    UndecidedError,
)
from heddle_orchestrator.agent.model_client import ModelClient
from heddle_orchestrator.agent.policy import is_greeting, nothing_usable, respond
from heddle_orchestrator.agent.repeat_detection import standstill
from heddle_orchestrator.agent.responses import TextResponse
from heddle_orchestrator.agent.routers.rules import decide_by_rules
from heddle_orchestrator.agent.state import PastRun, State
from heddle_orchestrator.agent.summary import summarize
from heddle_orchestrator.agent.validation import validated
from heddle_orchestrator.functions.budget import Budget, add_usage
from heddle_orchestrator.tools.bindings import BoundTool, stop_on_failure, to_duration
from heddle_orchestrator.tools.execution import (
    Events,
    ToolRun,
    client_calls,
    execute,
    finished,
    fixed_answer,
)
from heddle_orchestrator.tools.failures import is_recoverable, suggestion
from heddle_orchestrator.tools.function_call import FunctionCall
from heddle_orchestrator.tools.sources import source_events

log = structlog.get_logger(__name__)
_MAX_INPUT_CHARS = 1_000
_MAX_REJECTION_CHARS = 300


@dataclass(slots=True)
class RoutingLoop:
    """A run of the routing agent. No other run shares its state."""

    run: ToolRun
    bound: Sequence[BoundTool]
    router: Router
    model: ModelClient
    response: TextResponse
    budget: Budget
    state: State
    max_prompt_chars: int
    called: list[BoundTool]
    """Collects every tool that ran or could not be checked, with its outcome."""
    empty_response: str = ""
    """The answer if nothing usable was found. Empty: the model answers."""
    _reported: dict[str, str] = field(default_factory=dict)
    """The tools whose availability could not be checked and was reported, by binding."""

    async def events(
        self, request: connector_pb2.GenerateWholeMessageRequest
    ) -> AsyncGenerator[Events]:
        """Yield the events of the run. The last event is `done`.

        Args:
            request: The request for the answer, without the results of tools. Is changed.
        """
        greets = is_greeting(self.state.prompt)
        while True:
            started = time.monotonic()
            available = await available_tools(
                self.run,
                self.bound,
                self.state,
                compare=self.router.uses_affinity and not (greets or self.state.history),
            )
            if failures := self._report_failed_checks(available):
                yield failures
            before = chat_pb2.Usage()
            before.CopyFrom(self.model.usage)
            # A call that the user declined is not asked for again.
            declined = self.run.confirmations.declined
            confirmed = self._confirmed(available.tools)
            tools = [each for each in available.tools if confirmed or not (each.ask and declined)]
            with spans.span("plan", attributes=lambda: {"gen_ai.operation.name": "plan"}):
                decision = confirmed or self._forced(tools) or await self._decide(tools)
                _describe_decision(decision, self.run.request.assistant, self.state)
            yield [self._decision_event(decision, tools, time.monotonic() - started, before)]
            if decision.ends:
                break
            by_name = {each.name: each for each in tools}
            if not confirmed and (requests := self._asking(decision, by_name)):
                reason = chat_pb2.FINISH_REASON_TOOL_CALLS
                done = chat_pb2.Done(finish_reason=reason, usage=self.model.usage)
                yield [*client_calls(requests), pb.RunEvent(done=done)]
                return
            earlier = len(self.called)
            async with aclosing(self._run_choices(decision.choices, by_name)) as batches:
                async for events in batches:
                    yield events
            if ending := self._end_of_run(self.called[earlier:], by_name):
                yield ending
                return
            self.state.iterations += 1
            self.budget.take_round(time.monotonic() - started)
            if self.budget.stopped and self.run.watched:
                yield [pb.RunEvent(status=pb.Status(message=self.budget.stopped))]
        failed = bool(self.state.environment.errors)
        if self.empty_response and not failed and nothing_usable(self.state):
            yield self._fixed_answer(self.empty_response)
            return
        include_sources = decision.choices[0].inputs.get("include_sources", True)
        answer = self.response.events(
            request,
            self.state,
            self.called,
            self.model.usage,
            include_sources=include_sources is not False,
        )
        async with aclosing(answer) as batches:
            async for events in batches:
                yield events

    def _fixed_answer(self, text: str, citations: tuple[Citation, ...] = ()) -> Events:
        """Return the last events of a run whose answer is not the model's."""
        answer, done = fixed_answer(text)
        return [answer, *self.response.end(text, citations, done.done, self.model.usage)]

    def _report_failed_checks(self, available: Availability) -> Events:
        """Store and report the tools whose availability check failed for the first time."""
        events: Events = []
        for binding in self._reported.keys() - available.failed.keys():
            self.state.environment.errors.pop(self._reported.pop(binding), None)
        for each in self.bound:
            failure = available.failed.get(each.id)
            if failure is None or each.id in self._reported:
                continue
            self._reported[each.id] = each.tool
            lost = replace(each)
            lost.fail(to_status(failure), "", 0.0)
            self.called.append(lost)
            error = _tool_error(each.tool, failure)
            self.state.environment.fail(error)
            events += [finished(lost), self._output(output_events.error(error))]
        return events

    def _forced(self, tools: Sequence[Candidate]) -> Decision | None:
        """Return the decision of a limit, a trigger or a fixed rule; None to ask the router."""
        if self.budget.stopped:
            return respond(self.budget.stopped.capitalize() + ".")
        if triggered := self._triggered(tools):
            return triggered
        if reason := standstill(self.state):
            return respond(reason.capitalize() + ".")
        if not self.state.history and is_greeting(self.state.prompt):
            return respond("The message contains no question.")
        if not any(tool.bound is not None for tool in tools):
            return respond("No tool is available.")
        return None

    def _confirmed(self, tools: Sequence[Candidate]) -> Decision | None:
        """Return the decision to run what the user confirmed, at the beginning of the run."""
        if self.state.iterations:
            return None
        choices = [
            Choice(tool.name, members(arguments))
            for tool in tools
            if tool.bound is not None
            for arguments in self.run.confirmations.of(tool.bound, tool.function).values()
        ]
        return Decision(tuple(choices), "The user confirmed it.", "user") if choices else None

    def _asking(
        self, decision: Decision, by_name: Mapping[str, Candidate]
    ) -> list[chat_pb2.ToolCall]:
        """Return the calls for the client that ask to confirm what was chosen."""
        return [
            self.run.confirmations.request(self._bind(number, choice, by_name[choice.tool]))
            for number, choice in enumerate(decision.choices, start=1)
            if by_name[choice.tool].ask
        ]

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
                causes.append(cause or f"{tool.name} requests it")
        if not choices:
            return None
        return Decision(tuple(choices), f"It must run now: {'; '.join(causes)}.", "trigger")

    async def _decide(self, tools: Sequence[Candidate]) -> Decision:
        """Return the router's decision, or that of the rules if the router's is not valid."""
        try:
            decision = await self.router.decide(self.model, self.state, tools)
            return validated(decision, tools, self.state)
        except UndecidedError as error:
            reason = str(error)
        except HeddleError as error:
            reason = error.message
        except grpc.aio.AioRpcError as error:
            reason = from_rpc(error).message
        except TimeoutError:
            reason = "The model takes too long to decide."
        except Exception:
            log.exception("router failed", router=self.router.name)
            reason = f"The router {self.router.name!r} failed."
        decision = decide_by_rules(self.state, tools)
        if not decision.ends:
            try:
                decision = validated(decision, tools, self.state)
            except UndecidedError:
                decision = respond("There is nothing else to try.", decision.router)
        return replace(decision, rejected=redact(reason)[:_MAX_REJECTION_CHARS])

    async def _run_choices(
        self, choices: Sequence[Choice], by_name: Mapping[str, Candidate]
    ) -> AsyncGenerator[Events]:
        if any(choice.tool == SUMMARIZE for choice in choices):
            inputs = next(c.inputs for c in choices if c.tool == SUMMARIZE)
            yield [await self._summarize(inputs)]
        bound = [
            self._bind(number, choice, by_name[choice.tool])
            for number, choice in enumerate(choices, start=1)
            if choice.tool != SUMMARIZE
        ]
        if not bound:
            return
        context = tool_pb2.RunContext()
        context.CopyFrom(self.run.request)
        context.tree.CopyFrom(self.state.to_proto())
        async with aclosing(execute(replace(self.run, request=context), bound)) as batches:
            async for events in batches:
                yield events
        self.called += bound
        stop_on_failure(bound)
        yield [self._store_outcome(each, by_name) for each in bound]

    async def _summarize(self, inputs: Mapping[str, Any]) -> pb.RunEvent:
        length = inputs.get("max_length", DEFAULT_SUMMARY_WORDS)
        text = await summarize(self.model, self.state, length, self.max_prompt_chars)
        message = "A summary replaces all results."
        return self._output(
            Result([{"summary": text}], "summary", llm_message=message, tool=SUMMARIZE)
        )

    def _bind(self, number: int, choice: Choice, tool: Candidate) -> BoundTool:
        """Return a tool ready to run."""
        assert tool.bound is not None  # noqa: S101 - tools without a binding run elsewhere
        call = chat_pb2.ToolCall(
            id=f"agent_{self.state.iterations + 1}_{number}",
            name=tool.name,
            arguments_json=written(dict(choice.inputs)),
        )
        left = min(self.budget.seconds, remaining(self.run.context) / 2)
        return replace(
            tool.bound,
            id=call.id,
            call=FunctionCall.read(call),
            function=tool.function,
            timeout=min(tool.bound.timeout, left),
        )

    def _store_outcome(self, tool: BoundTool, by_name: Mapping[str, Candidate]) -> pb.RunEvent:
        """Store the result or the error of a tool for the next decision."""
        inputs = tool.call.arguments if tool.call and tool.call.arguments else {}
        name = by_name[tool.call.name].tool if tool.call else tool.tool
        failure = tool.failure
        self.budget.take_outcome(tool.call, failure)
        if failure is not None:
            error = _tool_error(name, failure)
            self.state.environment.fail(error)
            past = PastRun(name, inputs, 0, failed=True, recoverable=error.recoverable)
            self.state.history.append(past)
            return self._output(output_events.error(error))
        result = tool.result or tool_pb2.ToolResult()
        new = self.state.environment.add(name, result)
        self.state.history.append(PastRun(name, inputs, new, failed=False))
        return self._output(output_events.result(name, result))

    def _output(self, output: ToolOutput) -> pb.RunEvent:
        return output_events.event(output, self.response.query_id)

    def _end_of_run(self, tools: Sequence[BoundTool], by_name: Mapping[str, Candidate]) -> Events:
        """Return the last events if one of these tools ends the run with its text."""
        for each in tools:
            if each.call and each.result and each.text and by_name[each.call.name].end:
                ending = self._fixed_answer(each.text, sources(each.result.objects_json))
                return [*source_events([each]), *ending]
        return []

    def _decision_event(
        self,
        decision: Decision,
        tools: Sequence[Candidate],
        seconds: float,
        before: chat_pb2.Usage,
    ) -> pb.RunEvent:
        table.DECISIONS.add(1, decision.router, "true" if decision.rejected else "false")
        bindings = {each.name: each.bound.binding_id for each in tools if each.bound is not None}
        event = pb.Decision(
            iteration=self.state.iterations + 1,
            choices=[
                pb.Choice(
                    tool=choice.tool,
                    binding_id=bindings.get(choice.tool, ""),
                    inputs_json=written(shown(dict(choice.inputs), _MAX_INPUT_CHARS)),
                )
                for choice in decision.choices
            ],
            reason=redact(decision.reason),
            router=decision.router,
            rejected=decision.rejected,
            elapsed=to_duration(seconds),
        )
        usage = chat_pb2.Usage()
        add_usage(usage, self.model.usage)
        add_usage(usage, before, sign=-1)
        if usage.ByteSize():
            event.usage.CopyFrom(usage)
        return pb.RunEvent(decision=event)


def _describe_decision(decision: Decision, assistant: Assistant, state: State) -> None:
    if not spans.is_drawn():
        return
    known: dict[str, spans.Value] = {
        "heddle.decision.iteration": state.iterations + 1,
        "heddle.decision.decider": decision.router,
        "heddle.decision.tools": [choice.tool for choice in decision.choices],
        "heddle.decision.rejected": bool(decision.rejected),
    }
    spans.annotate(lambda: known, f"plan {assistant.id or 'unsaved'}")


def _tool_error(tool: str, failure: HeddleError) -> tool_pb2.EnvironmentError:
    return tool_pb2.EnvironmentError(
        tool=tool,
        message=failure.message,
        recoverable=is_recoverable(failure),
        suggestion=suggestion(failure),
    )
