"""Runs bound tools in the tools service. Events come in the order of the bindings."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import grpc
from google.protobuf.duration_pb2 import Duration
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.tool.v1 import tool_pb2
from heddle_runtime.call_metadata import CallOptions, Context, call_options
from heddle_runtime.client import streaming
from heddle_runtime.errors import ProviderGarbledError, from_rpc, to_status

from heddle_orchestrator.tools.bindings import BoundTool

if TYPE_CHECKING:
    from heddle.tool.v1.tool_pb2_grpc import ToolServiceAsyncStub

Events = list[pb.RunEvent]
_GRACE_SECONDS = 1.0
"""Beyond the timeout, which the tools service enforces itself."""


@dataclass(frozen=True, slots=True)
class ToolRun:
    """Runs the tools of one request."""

    tools: "ToolServiceAsyncStub"
    context: Context
    request: tool_pb2.RunContext
    watched: bool
    """Whether the client reads the events while the tools run."""

    def call_options(self, timeout: float) -> CallOptions:
        """Return the metadata and the timeout of a call to the tools service.

        Every call on behalf of a run takes its options from here.
        """
        return call_options(self.context, timeout)


async def execute(
    run: ToolRun, bound: Sequence[BoundTool], earlier: Sequence[tool_pb2.EarlierResult] = ()
) -> AsyncGenerator[Events]:
    """Run tools in parallel and yield their events, in the order of `bound`.

    The events of a tool wait until the tools before it have finished, so that the order does not
    depend on which tool is faster. The outcomes are stored in `bound`. A tool that has already
    failed is reported and not run. Never raises: if the tools service is unavailable, each tool
    fails.
    """
    waiting = {b.id: [finished(b)] if b.error else [] for b in bound}
    ended = {b.id for b in bound if b.error}
    to_run = {b.id: b for b in bound if not b.error}
    if run.watched and to_run:
        yield [_started(b) for b in to_run.values()]
    pending = iter(bound)
    head = next(pending, None)
    async for batch in _call(run, list(to_run.values()), earlier):
        for event in batch:
            if (b := to_run.get(event.id)) is not None and b.id not in ended:
                waiting[b.id].extend(_store(b, event, run.watched))
                if event.WhichOneof("event") in ("result", "error"):
                    ended.add(b.id)
        ready: Events = []
        while head is not None:
            ready += waiting[head.id]
            waiting[head.id] = []
            if head.id not in ended:
                break
            head = next(pending, None)
        if ready:
            yield ready


async def _call(
    run: ToolRun, bound: Sequence[BoundTool], earlier: Sequence[tool_pb2.EarlierResult]
) -> AsyncGenerator[Sequence[tool_pb2.ToolEvent]]:
    """Yield the events of the tools service, and an error for each tool without a result."""
    if not bound:
        yield ()
        return
    missing = {b.id for b in bound}
    request = tool_pb2.ExecuteToolsRequest(invocations=map(_invocation, bound), context=run.request)
    request.context.earlier.extend(earlier)
    cap = max(b.timeout for b in bound)
    cap += min(_GRACE_SECONDS, cap / 4)
    try:
        async with streaming(run.tools.ExecuteTools(request, **run.call_options(cap))) as call:
            async for response in call:
                missing -= {
                    event.id
                    for event in response.events
                    if event.WhichOneof("event") in ("result", "error")
                }
                yield response.events
        error = to_status(ProviderGarbledError("The tools service ended without a result."))
    except grpc.aio.AioRpcError as failure:
        error = to_status(from_rpc(failure))
    yield [tool_pb2.ToolEvent(id=b.id, error=error) for b in bound if b.id in missing]


def _invocation(bound: BoundTool) -> tool_pb2.ToolInvocation:
    invocation = tool_pb2.ToolInvocation(
        id=bound.id,
        name=bound.tool,
        config=bound.binding.config,
        slot=bound.binding.slot,
        timeout=to_duration(bound.timeout),
    )
    if bound.call is not None:
        invocation.function_call.name = bound.function
        invocation.function_call.arguments_json = bound.call.proto.arguments_json
    return invocation


def _store(bound: BoundTool, event: tool_pb2.ToolEvent, watched: bool) -> Events:  # noqa: FBT001 - a fact of the run, not a switch
    match event.WhichOneof("event"):
        case "status":
            return [_status(bound, event.status)] if watched else []
        case "result":
            bound.finish(event.result)
            events = [finished(bound)]
            if bound.sources:
                sources = pb.Sources(binding_id=bound.binding_id, sources=bound.sources)
                events.insert(0, pb.RunEvent(sources=sources))
            return events
        case "error":
            bound.fail(event.error, event.slot)
            return [finished(bound)]
        case _:  # an event of a newer contract
            return []


def _status(bound: BoundTool, status: tool_pb2.ToolStatus) -> pb.RunEvent:
    call_id = bound.call.id if bound.call else ""
    change = status.change if status.HasField("change") else None
    return pb.RunEvent(
        status=pb.Status(
            binding_id=bound.binding_id, message=status.message, call_id=call_id, change=change
        )
    )


def _started(bound: BoundTool) -> pb.RunEvent:
    started = pb.ToolStarted(binding_id=bound.binding_id, tool=bound.tool, call=_called(bound))
    if bound.call is not None:
        started.call.arguments_json = bound.call.shown
    return pb.RunEvent(tool_started=started)


def _called(bound: BoundTool) -> pb.CalledFunction | None:
    return pb.CalledFunction(id=bound.call.id, name=bound.call.name) if bound.call else None


def finished(bound: BoundTool) -> pb.RunEvent:
    """Return the event of a tool's end."""
    return pb.RunEvent(
        tool_finished=pb.ToolFinished(
            binding_id=bound.binding_id,
            tool=bound.tool,
            slot="" if bound.call else bound.slot,
            elapsed=bound.elapsed,
            error=bound.error,
            warnings=bound.warnings,
            call=_called(bound),
        )
    )


def to_duration(seconds: float) -> Duration:
    """Return seconds as a message."""
    duration = Duration()
    duration.FromNanoseconds(int(seconds * 1e9))
    return duration
