"""Runs a completion: the assistant's tools, its prompt and its model; streamed or whole."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial

import grpc
from heddle.connector.v1 import connector_pb2
from heddle.connector.v1.connector_pb2_grpc import ConnectorServiceAsyncStub
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.tool.v1.tool_pb2_grpc import ToolServiceAsyncStub
from heddle_runtime.errors import (
    HeddleError,
    InvalidRequestError,
    NoModelError,
    ProviderGarbledError,
    Violation,
    from_rpc,
    reason_of,
)
from heddle_runtime.identity.call_metadata import Context, call_options, remaining
from heddle_runtime.identity.grants import Grant, GrantSigner, carrying
from heddle_runtime.rpc.client import streaming
from heddle_runtime.telemetry import log_fields, spans
from heddle_runtime.telemetry.metrics import table

from heddle_orchestrator.agent import Agents, Route
from heddle_orchestrator.agent.state import initial_state
from heddle_orchestrator.assistants import (
    ID_PREFIX,
    CachedAssistants,
    limited_to,
    owned_by_caller,
)
from heddle_orchestrator.candidates import check_candidates, together
from heddle_orchestrator.context_budget import ContextBudgets, Model, is_too_long, warning
from heddle_orchestrator.event_mapping import map_events
from heddle_orchestrator.functions import Functions, Generate
from heddle_orchestrator.metering.counting import Counting, charged_assistant
from heddle_orchestrator.metering.meter import Meter
from heddle_orchestrator.metering.prices import PriceClient
from heddle_orchestrator.metering.reserving import Reserver
from heddle_orchestrator.output.events import filtered_answer, output_filter
from heddle_orchestrator.plan import Plan, plan
from heddle_orchestrator.prepared import PreparedAssistant, prepare
from heddle_orchestrator.prompts.images import visible
from heddle_orchestrator.tools.confirmations import Confirmations
from heddle_orchestrator.tools.default_slots import DefaultSlots
from heddle_orchestrator.tools.execution import Events, ToolRun, fixed_answer
from heddle_orchestrator.tools.sources import source_events
from heddle_orchestrator.trace import Tracing

MERGING = "merging tool outputs"
TOOLS_RAN = "tools_ran"
_MAX_GRANT_SECONDS = 3_600.0  # for calls without a deadline
_QUOTA_NEARS_END = "The quota of this assistant nears its end. Tell its owner."
_INCOMPLETE = "The connector's answer was cut off."
GenerateRequest = connector_pb2.GenerateWholeMessageRequest


@dataclass(frozen=True, slots=True)
class Completions:
    """Answers conversations."""

    tools: ToolServiceAsyncStub
    connectors: ConnectorServiceAsyncStub
    assistants: CachedAssistants
    tool_timeout: float
    functions: Functions
    agents: Agents
    max_prompt_chars: int
    meter: Meter
    reserver: Reserver
    grants: GrantSigner
    confirmations: Confirmations
    prices: PriceClient
    default_slots: DefaultSlots
    budgets: ContextBudgets = field(default_factory=ContextBudgets)

    async def stream(
        self,
        request: pb.RunCompletionRequest,
        context: Context,
        *,
        plan_: Plan | None = None,
        watched: bool = True,
    ) -> AsyncGenerator[pb.RunCompletionResponse]:
        """Yield the events of a completion.

        Args:
            request: The request of the client.
            context: The context of the call.
            plan_: The plan of the run, if it exists already.
            watched: Whether the client reads the events as they come.

        Raises:
            HeddleError: There is no answer: the assistant is unknown, not valid or over its quota,
                the connector failed, or a tool with the policy `fail` did.
        """
        plan_ = plan_ or await self._plan(request, context)
        with table.duration(table.INVOKE_AGENT, plan_.strategy.name):
            output = output_filter(plan_.assistant.output_hosts)
            tracing = None
            if plan_.traced:
                tracing = Tracing(plan_, self.max_prompt_chars, self.prices, context)
                plan_.observe = tracing.observe
            if plan_.bound:
                run = self._tool_run(plan_, context, watched=watched)
                async with aclosing(plan_.strategy.run(run, plan_.bound)) as batches:
                    async for events in batches:
                        shown = events if output is None else await output.events(events)
                        yield pb.RunCompletionResponse(events=shown)
                plan_.stop_on_failure()
                if watched:
                    merging = pb.RunEvent(status=pb.Status(message=MERGING))
                    yield pb.RunCompletionResponse(events=[merging])
            generate_request = plan_.generate_request(self.max_prompt_chars)
            if sources := source_events(plan_.bound):
                shown = sources if output is None else await output.events(sources)
                yield pb.RunCompletionResponse(events=shown)
            answer = self._answers(plan_, context, generate_request, watched=watched)
            if tracing is not None:
                answer = tracing.insert_into(answer, generate_request.generation)
            warnings = plan_.warnings()
            async with aclosing(answer) as responses:
                async for response in responses:
                    # Not before the model answers: its failure would come after an event.
                    if warnings:
                        yield pb.RunCompletionResponse(events=warnings)
                        warnings = []
                    yield response

    async def whole(
        self, request: pb.RunCompletionRequest, context: Context
    ) -> pb.RunWholeCompletionResponse:
        """Return the events of a completion.

        Raises:
            HeddleError: As of `stream`. Its metadata has `tools_ran` if tools have run.
        """
        whole = pb.RunWholeCompletionResponse()
        try:
            plan_ = await self._plan(request, context)
            is_long_run = plan_.bound or plan_.loops or plan_.traced or plan_.may_quote
            if is_long_run or request.truncate or request.candidates > 1:
                stream = self.stream(request, context, plan_=plan_, watched=False)
                async with aclosing(stream) as responses:
                    async for response in responses:
                        for event in response.events:  # `extend` would serialise and parse each
                            whole.events.add().CopyFrom(event)
            else:  # One request to the model, without the cost of two generators.
                generate_request = plan_.generate_request(self.max_prompt_chars)
                with table.duration(table.INVOKE_AGENT, plan_.strategy.name):
                    await self._generate_whole(plan_, context, generate_request, whole)
                for warning in plan_.warnings():
                    whole.events.insert(0, warning)
                if (output := output_filter(plan_.assistant.output_hosts)) is not None:
                    events = await output.events(whole.events)
                    return pb.RunWholeCompletionResponse(events=events)
        except (HeddleError, grpc.aio.AioRpcError) as error:
            raise with_tools_ran(error, whole.events) from error
        return whole

    async def _plan(self, request: pb.RunCompletionRequest, context: Context) -> Plan:
        budget, readable = None, True
        match request.WhichOneof("target"):
            case "assistant":
                assistant = owned_by_caller(request.assistant)
                if request.charged_to:
                    reference = f"{ID_PREFIX}{request.charged_to}"
                    charged, budget, _ = await self.assistants.get(reference, context)
                    assistant = limited_to(assistant, charged.assistant.output_hosts)
                prepared = prepare(assistant)
            case "assistant_reference":
                reference = request.assistant_reference
                prepared, budget, readable = await self.assistants.get(reference, context)
            case _:
                violation = Violation("assistant_reference", "is required, or assistant")
                raise InvalidRequestError("The request names no assistant.", [violation])
        has_quota = budget is not None
        _describe(prepared)
        request, confirmations = await self.confirmations.read(request, prepared.assistant)
        if spans.is_drawn():
            name = f"invoke_agent {prepared.assistant.id or 'unsaved'}"
            spans.annotate(partial(_agent, prepared), name)
        plan_ = plan(
            request,
            prepared,
            self.tool_timeout,
            context,
            confirmations,
            has_quota=has_quota,
            readable=readable,
        )
        check_candidates(request.candidates, loops=plan_.loops)
        grant = Grant(plan_.assistant.owner, plan_.assistant.organization)
        plan_.grant = self.grants.sign(grant, remaining(context, _MAX_GRANT_SECONDS))
        if prepared.disabled_tools and (slots := await self.default_slots.get(context)):
            plan_.empty_slots = [slots.get(name, "") for name in prepared.disabled_tools]
        return plan_

    def _tool_run(self, plan_: Plan, context: Context, *, watched: bool) -> ToolRun:
        return ToolRun(
            self.tools,
            context,
            plan_.tool_context(watched=watched),
            plan_.confirmations,
            watched=watched,
            extra=plan_.extra_context(watched=watched),
        )

    def _answers(
        self, plan_: Plan, context: Context, request: GenerateRequest, *, watched: bool
    ) -> AsyncGenerator[pb.RunCompletionResponse]:
        """Return the events of the answer, or of all answers; each has a filter of its own."""
        requests = [request]
        for _ in range(1, plan_.request.candidates):
            requests.append(GenerateRequest())
            requests[-1].CopyFrom(request)  # each can be shortened
        answers = [
            filtered_answer(
                self._answer(plan_, context, each, watched=watched), plan_.assistant.output_hosts
            )
            for each in requests
        ]
        return together(answers) if answers[1:] else answers[0]

    def _answer(
        self, plan_: Plan, context: Context, request: GenerateRequest, *, watched: bool
    ) -> AsyncGenerator[pb.RunCompletionResponse]:
        if plan_.loops:
            return self._generate_in_loop(plan_, context, request, watched=watched)
        if plan_.empty_response:
            return _without_model(plan_.empty_response)
        return self._observed(plan_, context, request, watched=watched)

    async def _generate(
        self, plan_: Plan, context: Context, request: GenerateRequest, *, watched: bool
    ) -> AsyncGenerator[pb.RunCompletionResponse]:
        """Yield the events of one request to the model, without its oldest turns if need be."""
        prepared = plan_.prepared
        model = prepared.assistant.organization, prepared.connector, prepared.model
        left_out = self.budgets.fit(model, request) if plan_.request.truncate else 0
        while True:
            begun = False
            try:
                answer = self._generate_once(plan_, context, request, watched=watched)
                async with aclosing(answer) as responses:
                    async for response in responses:
                        if left_out and not begun:
                            response.events.insert(0, warning(left_out))
                        begun = True
                        yield response
            except (HeddleError, grpc.aio.AioRpcError) as error:
                if begun or not (count := self._shorten(plan_, request, model, error)):
                    raise
                left_out += count
            else:
                return

    def _shorten(
        self, plan_: Plan, request: GenerateRequest, model: Model, error: Exception
    ) -> int:
        """Leave out the oldest turns of a prompt that the model refused as too long."""
        known = from_rpc(error) if isinstance(error, grpc.aio.AioRpcError) else error
        too_long = isinstance(known, HeddleError) and is_too_long(known)
        return self.budgets.refuse(model, request) if plan_.request.truncate and too_long else 0

    async def _generate_once(
        self, plan_: Plan, context: Context, request: GenerateRequest, *, watched: bool
    ) -> AsyncGenerator[pb.RunCompletionResponse]:
        """Yield the events of one request to the model, and count its tokens."""
        if not watched:
            response = pb.RunCompletionResponse()
            await self._generate_whole(plan_, context, request, response)
            yield response
            return
        done = False
        reservation, warnings = await self._reserve(plan_, context, request)
        with Counting(self.meter, plan_, reservation) as counted:
            with carrying(plan_.grant):
                call = self.connectors.GenerateMessage(request.generation, **call_options(context))
            async with streaming(call) as responses:
                # Read to the end: gRPC reports a stream as cancelled otherwise.
                async for connector_response in responses:
                    response = pb.RunCompletionResponse()
                    ends = map_events(connector_response.events[:], response.events)
                    if response.events and not done:
                        done = ends
                        counted.last = response.events
                        if warnings:
                            response.events.insert(0, warnings.pop())
                        yield response
            if not done:
                raise ProviderGarbledError(_INCOMPLETE)

    async def _generate_whole(
        self,
        plan_: Plan,
        context: Context,
        request: GenerateRequest,
        response: pb.RunCompletionResponse | pb.RunWholeCompletionResponse,
    ) -> None:
        """Add the events of one request to the model to `response`, and count its tokens."""
        reservation, warnings = await self._reserve(plan_, context, request)
        response.events.extend(warnings)
        with Counting(self.meter, plan_, reservation) as counted, carrying(plan_.grant):
            whole = await self.connectors.GenerateWholeMessage(request, **call_options(context))
            if not map_events(whole.events[:], response.events):
                del response.events[:]
                raise ProviderGarbledError(_INCOMPLETE)
            counted.last = response.events

    async def _reserve(
        self, plan_: Plan, context: Context, request: GenerateRequest
    ) -> tuple[str, list[pb.RunEvent]]:
        """Reserve the costs of an answer if they count for a quota.

        Returns the id of the reservation, which is empty without one, and a warning for the user if
        the quota nears its end and no request of the run has said so.
        """
        if not plan_.has_quota:
            return "", []
        charged = charged_assistant(plan_)
        reservation, near = await self.reserver.reserve(charged, request.generation, context)
        is_new, plan_.quota_nears_end = near and not plan_.quota_nears_end, near
        return reservation, [pb.RunEvent(warning=_QUOTA_NEARS_END)] if is_new else []

    async def _generate_in_loop(
        self, plan_: Plan, context: Context, request: GenerateRequest, *, watched: bool
    ) -> AsyncGenerator[pb.RunCompletionResponse]:
        """Yield the events of the tool loop, of the routing agent, or of both."""
        generate: Generate = partial(self._events, plan_, context, watched=watched)
        run = self._tool_run(plan_, context, watched=watched)
        if plan_.callable_:
            generate = self.functions.generate_with_tools(
                generate, run, plan_.callable_, plan_.called
            )
        if (router := plan_.strategy.router) is None:
            loop = generate(request)
        else:
            messages = plan_.request.messages
            plan_.state = initial_state(messages, visible(plan_.assistant, messages))
            route = Route(plan_.routed, plan_.called, plan_.state, plan_.empty_response)
            ask = partial(self._events, plan_, context, watched=False, quotes=False)
            loop = self.agents.loop(router, run, route, ask=ask, generate=generate).events(request)
        async with aclosing(loop) as batches:
            async for events in batches:
                yield pb.RunCompletionResponse(events=events)

    def _observed(
        self,
        plan_: Plan,
        context: Context,
        request: GenerateRequest,
        *,
        watched: bool,
        quotes: bool = True,
    ) -> AsyncGenerator[pb.RunCompletionResponse]:
        """Return the events of one request to the model, or quotes if no model is connected."""
        answer = self._generate(plan_, context, request, watched=watched)
        if plan_.observe is not None:
            answer = plan_.observe(answer)
        return _or_quotes(plan_, answer) if quotes and plan_.may_quote else answer

    async def _events(
        self,
        plan_: Plan,
        context: Context,
        request: GenerateRequest,
        *,
        watched: bool,
        quotes: bool = True,
    ) -> AsyncGenerator[Events]:
        answer = self._observed(plan_, context, request, watched=watched, quotes=quotes)
        async with aclosing(answer) as responses:
            async for response in responses:
                yield response.events[:]


def _describe(prepared: PreparedAssistant) -> None:
    """Name the assistant and its model in the log line of the request."""
    fields = log_fields.current()
    fields.assistant = prepared.assistant.id or fields.assistant
    fields.model = f"{prepared.connector}/{prepared.model}"


def _agent(prepared: PreparedAssistant) -> spans.Attributes:
    """Return the attributes of the span of an answer."""
    assistant = prepared.assistant
    return {
        "gen_ai.request.model": prepared.model,
        "heddle.assistant.id": assistant.id,
        "heddle.strategy": assistant.strategy,
        "heddle.organization": assistant.organization,
    }


async def _without_model(text: str) -> AsyncGenerator[pb.RunCompletionResponse]:
    yield pb.RunCompletionResponse(events=fixed_answer(text))


async def _or_quotes(
    plan_: Plan, answer: AsyncGenerator[pb.RunCompletionResponse]
) -> AsyncGenerator[pb.RunCompletionResponse]:
    """Yield an answer, or quotes of what the tools found if no model is connected."""
    try:
        async with aclosing(answer) as responses:
            async for response in responses:
                yield response
    except grpc.aio.AioRpcError as error:
        if reason_of(error) != NoModelError.reason:
            raise
        yield pb.RunCompletionResponse(events=fixed_answer(plan_.quoting_answer()))


def _shows_a_tool(event: pb.RunEvent) -> bool:
    return bool(event.HasField("sources") or event.tool_finished.HasField("elapsed"))


def with_tools_ran(
    error: HeddleError | grpc.aio.AioRpcError, events: Sequence[pb.RunEvent]
) -> HeddleError:
    """Return the failure of a run, and in its metadata whether tools have run."""
    failure = from_rpc(error) if isinstance(error, grpc.aio.AioRpcError) else error
    if any(map(_shows_a_tool, events)):  # a retry runs the tools again
        failure.metadata[TOOLS_RAN] = "true"
    return failure
