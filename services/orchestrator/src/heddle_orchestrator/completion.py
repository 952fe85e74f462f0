"""One answer: the assistant, its tools, its prompt, its model; streamed or whole."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import grpc
from heddle.connector.v1 import connector_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle_runtime.call_metadata import call_options, remaining
from heddle_runtime.client import streaming
from heddle_runtime.errors import (
    HeddleError,
    InvalidRequestError,
    ProviderGarbledError,
    Violation,
    from_rpc,
)
from heddle_runtime.grants import GrantSigner
from heddle_runtime.server_interceptor import Context

from heddle_orchestrator.agent import Agents, Route
from heddle_orchestrator.agent.state import begun
from heddle_orchestrator.assistants import BY_ID, Assistants, owned_by_caller
from heddle_orchestrator.execution import Events, ToolRun
from heddle_orchestrator.forwarding import forward
from heddle_orchestrator.functions import Functions, Generate
from heddle_orchestrator.grants import grant_of
from heddle_orchestrator.metering.counting import Counting, counting
from heddle_orchestrator.metering.meter import Meter
from heddle_orchestrator.plan import Plan, plan

if TYPE_CHECKING:
    from heddle.connector.v1.connector_pb2_grpc import ConnectorServiceAsyncStub
    from heddle.tool.v1.tool_pb2_grpc import ToolServiceAsyncStub

    from heddle_orchestrator.forwarding import Events as Happened

MERGING = "merging tool outputs"
TOOLS_RAN = "tools_ran"
_LONGEST_GRANT_SECONDS = 3_600.0
_CUT_OFF = "The connector's answer was cut off."
Order = connector_pb2.GenerateWholeMessageRequest


@dataclass(frozen=True, slots=True)
class Completions:
    """Answers conversations."""

    tools: "ToolServiceAsyncStub"
    connectors: "ConnectorServiceAsyncStub"
    assistants: Assistants
    tool_timeout: float
    functions: Functions
    agents: Agents
    max_prompt_chars: int
    meter: Meter
    grants: GrantSigner

    async def stream(
        self, request: pb.RunCompletionRequest, context: Context
    ) -> AsyncGenerator[pb.RunCompletionResponse]:
        """Yield what happens while the assistant answers.

        Raises:
            HeddleError: There is no answer: the assistant is unknown or wrong or has spent its
                quota, the connector failed, or a tool that must not fail did.
        """
        planned = await self._plan(request, context)
        if planned.bound:
            async with aclosing(self._run_tools(planned, context, watched=True)) as happened:
                async for events in happened:
                    yield pb.RunCompletionResponse(events=events)
            merging = pb.RunEvent(status=pb.Status(message=MERGING))
            yield pb.RunCompletionResponse(events=[merging])
        order = planned.order(self.max_prompt_chars)
        tracing = planned.tracing()
        looping = planned.callable_ or planned.routing
        generate = self._generate_and_call if looping else self._generate
        async with aclosing(generate(planned, order, context)) as generated:
            async for response in generated:
                if tracing is not None:
                    tracing.take(response.events)
                yield response

    async def whole(
        self, request: pb.RunCompletionRequest, context: Context
    ) -> pb.RunWholeCompletionResponse:
        """Return what happened when it is over.

        Raises:
            HeddleError: As of `stream`; its metadata has `tools_ran` if tools have done their work.
        """
        response = pb.RunWholeCompletionResponse()
        try:
            await self._answer(request, context, response.events)
        except (HeddleError, grpc.aio.AioRpcError) as error:
            raise _lost(error, response.events) from error
        return response

    async def _answer(
        self, request: pb.RunCompletionRequest, context: Context, happened: "Happened"
    ) -> None:
        """Add to `happened` what happens, that far when it fails."""
        planned = await self._plan(request, context)
        if planned.bound:
            async with aclosing(self._run_tools(planned, context, watched=False)) as told:
                async for events in told:
                    happened.extend(events)
        order = planned.order(self.max_prompt_chars)
        tracing = planned.tracing()
        if planned.callable_ or planned.routing:
            async with aclosing(self._rounds(planned, order, context, watched=False)) as told:
                async for events in told:
                    happened.extend(events)
        else:
            await self._generate_whole(planned, order, context, happened)
        if tracing is not None:
            tracing.take(happened)

    async def _plan(self, request: pb.RunCompletionRequest, context: Context) -> Plan:
        match request.WhichOneof("target"):
            case "assistant":
                if request.charged_to:
                    paying = f"{BY_ID}{request.charged_to}"
                    if self.assistants.known(paying) is None:
                        await self.assistants.get(paying, context)
                assistant = owned_by_caller(request.assistant)
            case "assistant_reference":
                wanted = request.assistant_reference
                assistant = self.assistants.known(wanted) or await self.assistants.get(
                    wanted, context
                )
            case _:
                violation = Violation("assistant_reference", "is required, or assistant")
                raise InvalidRequestError("The request names no assistant.", [violation])
        return plan(request, assistant, self.tool_timeout, context)

    async def _run_tools(
        self, planned: Plan, context: Context, *, watched: bool
    ) -> AsyncGenerator[Events]:
        run = self._tool_run(planned, context, watched=watched)
        async with aclosing(planned.strategy.run(run, planned.bound)) as happened:
            async for events in happened:
                yield events
        planned.stop_on_failure()

    def _tool_run(self, planned: Plan, context: Context, *, watched: bool) -> ToolRun:
        seconds = remaining(context, _LONGEST_GRANT_SECONDS)
        grant = self.grants.sign(grant_of(planned.assistant), seconds)
        shared = planned.tool_context(grant, watched=watched)
        return ToolRun(self.tools, context, shared, watched=watched)

    async def _generate(
        self, planned: Plan, order: Order, context: Context
    ) -> AsyncGenerator[pb.RunCompletionResponse]:
        done = False
        with self._counting(planned) as counted:
            call = self.connectors.GenerateMessage(order.generation, **call_options(context))
            async with streaming(call) as responses:
                # Read to the very end: a call left after its last event counts as cancelled.
                async for response in responses:
                    made = pb.RunCompletionResponse()
                    ends = forward(response.events[:], made.events)
                    if made.events and not done:
                        done = ends
                        counted.last = made.events
                        yield made
            if not done:
                raise ProviderGarbledError(_CUT_OFF)

    async def _generate_whole(
        self, planned: Plan, order: Order, context: Context, happened: "Happened"
    ) -> None:
        with self._counting(planned) as counted:
            response = await self.connectors.GenerateWholeMessage(order, **call_options(context))
            earlier = len(happened)
            if not forward(response.events[:], happened):
                del happened[earlier:]
                raise ProviderGarbledError(_CUT_OFF)
            counted.last = happened

    def _counting(self, planned: Plan) -> Counting:
        """Return what counts one answer of a model: a run has one for each round of calls."""
        return counting(self.meter, planned.request, planned.assistant)

    async def _generate_and_call(
        self, planned: Plan, order: Order, context: Context
    ) -> AsyncGenerator[pb.RunCompletionResponse]:
        async with aclosing(self._rounds(planned, order, context, watched=True)) as happened:
            async for events in happened:
                yield pb.RunCompletionResponse(events=events)

    def _rounds(
        self, planned: Plan, order: Order, context: Context, *, watched: bool
    ) -> AsyncGenerator[Events]:
        """Let the model answer and call functions in turns, and the agent choose before."""
        once = partial(self._once, planned, context, watched=watched)
        answer: Generate = once
        run = self._tool_run(planned, context, watched=watched)
        if planned.callable_:
            answer = self.functions.answering(once, run, planned.callable_, planned.called)
        if (routing := planned.routing) is None:
            return answer(order)
        planned.state = begun(planned.request.messages)
        return self.agents.answering(
            order,
            decider=routing.decider,
            ask=partial(self._asked, planned, context),
            generate=answer,
            run=run,
            route=Route(planned.routed, planned.called, planned.state),
        )

    async def _asked(self, planned: Plan, context: Context, order: Order) -> Sequence[pb.RunEvent]:
        """Return what the model did when it was asked for a decision."""
        made = pb.RunCompletionResponse()
        await self._generate_whole(planned, order, context, made.events)
        return made.events[:]

    async def _once(
        self, planned: Plan, context: Context, order: Order, *, watched: bool
    ) -> AsyncGenerator[Events]:
        if not watched:
            made = pb.RunCompletionResponse()
            await self._generate_whole(planned, order, context, made.events)
            yield made.events[:]
            return
        async with aclosing(self._generate(planned, order, context)) as generated:
            async for response in generated:
                yield response.events[:]


def _lost(
    error: HeddleError | grpc.aio.AioRpcError, happened: Sequence[pb.RunEvent]
) -> HeddleError:
    """Return the failure of a run whose events nobody gets to see."""
    known = from_rpc(error) if isinstance(error, grpc.aio.AioRpcError) else error
    if happened:  # whoever asks again must know that tools run again
        known.metadata[TOOLS_RAN] = "true"
    return known
