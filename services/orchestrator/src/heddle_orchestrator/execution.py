"""Running bound tools in the tool service, told in the order of the bindings."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import grpc
from google.protobuf.duration_pb2 import Duration
from google.rpc import status_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.tool.v1 import tool_pb2
from heddle_runtime.boundary import Context
from heddle_runtime.calls import onward
from heddle_runtime.client import streaming
from heddle_runtime.errors import ProviderGarbledError, from_rpc, to_status

from heddle_orchestrator.bindings import Bound

if TYPE_CHECKING:
    from heddle.tool.v1.tool_pb2_grpc import ToolServiceAsyncStub

Events = list[pb.RunEvent]
_GRACE = 1.0  # seconds; the tool service ends a slow tool itself, this is for one that hangs


@dataclass(frozen=True, slots=True)
class ToolRun:
    """What a strategy needs to run the tools of one request."""

    tools: "ToolServiceAsyncStub"
    context: Context
    request: tool_pb2.RunContext
    watched: bool
    """Somebody reads the events as they come."""


async def execute(
    run: ToolRun, bound: Sequence[Bound], earlier: Sequence[tool_pb2.EarlierResult] = ()
) -> AsyncGenerator[Events]:
    """Run tools at once and yield what happens, in the order of `bound`.

    Events of a tool wait until those before it have finished, so that what a person sees does
    not depend on which tool was faster. The outcomes are left in `bound`. Never fails: a tool
    service that cannot be reached is the failure of each tool.
    """
    if run.watched:
        yield [
            pb.RunEvent(tool_started=pb.ToolStarted(binding_id=b.id, tool=b.tool)) for b in bound
        ]
    waiting: dict[str, Events] = {b.id: [] for b in bound}
    ended: set[str] = set()
    order = iter(bound)
    head = next(order, None)
    async for happened in _call(run, bound, earlier):
        by_id = {b.id: b for b in bound}
        for event in happened:
            if (b := by_id.get(event.id)) is not None and b.id not in ended:
                waiting[b.id].extend(_absorb(b, event, run.watched))
                if event.WhichOneof("event") in ("result", "error"):
                    ended.add(b.id)
        ready: Events = []
        while head is not None:
            ready += waiting[head.id]
            waiting[head.id] = []
            if head.id not in ended:
                break
            head = next(order, None)
        if ready:
            yield ready


async def _call(
    run: ToolRun, bound: Sequence[Bound], earlier: Sequence[tool_pb2.EarlierResult]
) -> AsyncGenerator[Sequence[tool_pb2.ToolEvent]]:
    """Yield the tool service's events, and in the end an error for each tool it left open."""
    missing = {b.id for b in bound}
    request = tool_pb2.ExecuteToolsRequest(
        invocations=[
            tool_pb2.ToolInvocation(
                id=b.id,
                name=b.tool,
                config=b.binding.config,
                slot=b.binding.slot,
                timeout=_duration(b.timeout),
            )
            for b in bound
        ],
        context=run.request,
    )
    request.context.earlier.extend(earlier)
    cap = max(b.timeout for b in bound)
    cap += min(_GRACE, cap / 4)
    try:
        async with streaming(run.tools.ExecuteTools(request, **onward(run.context, cap))) as call:
            async for response in call:
                missing -= {
                    event.id
                    for event in response.events
                    if event.WhichOneof("event") in ("result", "error")
                }
                yield response.events
        error = to_status(ProviderGarbledError("The tool service ended without a result."))
    except grpc.aio.AioRpcError as failure:
        error = to_status(from_rpc(failure))
    yield [tool_pb2.ToolEvent(id=b.id, error=error) for b in bound if b.id in missing]


def _absorb(bound: Bound, event: tool_pb2.ToolEvent, watched: bool) -> Events:  # noqa: FBT001 - a fact of the run, not a switch
    match event.WhichOneof("event"):
        case "status":
            status = pb.Status(binding_id=bound.id, message=event.status.message)
            return [pb.RunEvent(status=status)] if watched else []
        case "result":
            bound.finish(event.result)
            finished = [_finished(bound)]
            if bound.sources:
                sources = pb.Sources(binding_id=bound.id, sources=bound.sources)
                finished.insert(0, pb.RunEvent(sources=sources))
            return finished
        case "error":
            failure = status_pb2.Status()
            failure.CopyFrom(event.error)
            bound.fail(failure, event.slot)
            return [_finished(bound)]
        case _:  # an event of a newer contract
            return []


def _finished(bound: Bound) -> pb.RunEvent:
    return pb.RunEvent(
        tool_finished=pb.ToolFinished(
            binding_id=bound.id,
            tool=bound.tool,
            slot=bound.slot,
            elapsed=bound.elapsed,
            error=bound.error,
            warnings=bound.warnings,
        )
    )


def _duration(seconds: float) -> Duration:
    duration = Duration()
    duration.FromNanoseconds(int(seconds * 1e9))
    return duration
