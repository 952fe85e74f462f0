"""One answer: the assistant, its tools, its prompt, its model; streamed or whole."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import grpc
from heddle.connector.v1 import connector_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle_runtime.boundary import Context
from heddle_runtime.calls import Stopwatch, onward
from heddle_runtime.client import streaming
from heddle_runtime.errors import (
    HeddleError,
    InvalidRequestError,
    ProviderGarbledError,
    Violation,
    from_rpc,
)

from heddle_orchestrator.assistants import Assistants, owned_by_caller
from heddle_orchestrator.execution import Events, ToolRun
from heddle_orchestrator.forwarding import forward
from heddle_orchestrator.plan import Plan, plan

if TYPE_CHECKING:
    from heddle.connector.v1.connector_pb2_grpc import ConnectorServiceAsyncStub
    from heddle.tool.v1.tool_pb2_grpc import ToolServiceAsyncStub

    from heddle_orchestrator.forwarding import Events as Happened

MERGING = "merging tool outputs"
TOOLS_RAN = "tools_ran"
_CUT_OFF = "The connector's answer was cut off."


@dataclass(frozen=True, slots=True)
class Completions:
    """Answers conversations."""

    tools: "ToolServiceAsyncStub"
    connectors: "ConnectorServiceAsyncStub"
    assistants: Assistants
    tool_timeout: float
    max_prompt_chars: int

    async def stream(
        self, request: pb.RunCompletionRequest, context: Context
    ) -> AsyncGenerator[pb.RunCompletionResponse]:
        """Yield what happens while the assistant answers.

        Raises:
            HeddleError: There is no answer: the assistant is unknown or wrong, the connector
                failed, or a tool that must not fail did.
        """
        planned = await self._plan(request, context)
        if planned.bound:
            async with aclosing(self._run_tools(planned, context, watched=True)) as happened:
                async for events in happened:
                    yield pb.RunCompletionResponse(events=events)
            merging = pb.RunEvent(status=pb.Status(message=MERGING))
            yield pb.RunCompletionResponse(events=[merging])
        order = planned.order(self.max_prompt_chars)
        watch = Stopwatch()
        chars = 0
        async with aclosing(self._generate(order.generation, context)) as generated:
            async for response, done in generated:
                if planned.traced:
                    chars += _chars(response.events)
                    if done:
                        _tell(planned.trace(watch.seconds(), chars), response.events)
                yield response

    async def whole(
        self, request: pb.RunCompletionRequest, context: Context
    ) -> pb.RunWholeCompletionResponse:
        """Return what happened when it is over.

        Raises:
            HeddleError: As of `stream`; its metadata has `tools_ran` if tools have done their work.
        """
        response = pb.RunWholeCompletionResponse()
        happened = response.events
        try:
            planned = await self._plan(request, context)
            if planned.bound:
                async with aclosing(self._run_tools(planned, context, watched=False)) as told:
                    async for events in told:
                        happened.extend(events)
            order = planned.order(self.max_prompt_chars)
            watch = Stopwatch()
            generated = await self.connectors.GenerateWholeMessage(order, **onward(context))
        except (HeddleError, grpc.aio.AioRpcError) as error:
            raise _lost(error, happened) from error
        before = len(happened)
        if not forward(generated.events[:], happened):
            raise _lost(ProviderGarbledError(_CUT_OFF), happened[:before])
        if planned.traced:
            _tell(planned.trace(watch.seconds(), _chars(happened)), happened)
        return response

    async def _plan(self, request: pb.RunCompletionRequest, context: Context) -> Plan:
        match request.WhichOneof("target"):
            case "assistant":
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
        shared = planned.tool_context(watched=watched)
        run = ToolRun(self.tools, context, shared, watched=watched)
        async with aclosing(planned.strategy.run(run, planned.bound)) as happened:
            async for events in happened:
                yield events
        planned.stop_on_failure()

    async def _generate(
        self, request: connector_pb2.GenerateMessageRequest, context: Context
    ) -> AsyncGenerator[tuple[pb.RunCompletionResponse, bool]]:
        """Yield what the connector tells, and whether that is all."""
        call = self.connectors.GenerateMessage(request, **onward(context))
        done = False
        async with streaming(call) as responses:
            # Read to the very end: a call that is left after its last event counts as cancelled.
            async for response in responses:
                made = pb.RunCompletionResponse()
                ends = forward(response.events[:], made.events)
                if made.events and not done:
                    done = ends
                    yield made, done
        if not done:
            raise ProviderGarbledError(_CUT_OFF)


def _lost(
    error: HeddleError | grpc.aio.AioRpcError, happened: Sequence[pb.RunEvent]
) -> HeddleError:
    """Return the failure of a run whose events nobody gets to see."""
    known = from_rpc(error) if isinstance(error, grpc.aio.AioRpcError) else error
    if happened:  # whoever asks again must know that tools run again
        known.metadata[TOOLS_RAN] = "true"
    return known


def _chars(events: "Happened") -> int:
    return sum(len(event.text_delta) for event in events)


def _tell(trace: pb.RunEvent, events: "Happened") -> None:
    """Put the trace before the last event."""
    last = events.pop()
    events.extend([trace, last])
