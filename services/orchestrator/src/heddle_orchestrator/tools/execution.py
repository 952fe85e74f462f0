"""Runs bound tools in the tools service."""

import time
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

import grpc
from heddle.chat.v1 import chat_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.tool.v1 import tool_pb2
from heddle.tool.v1.tool_pb2_grpc import ToolServiceAsyncStub
from heddle_runtime.errors import InvalidRequestError, ProviderGarbledError, from_rpc, to_status
from heddle_runtime.identity.call_metadata import CallOptions, Context, Stopwatch, call_options
from heddle_runtime.rpc.client import streaming
from heddle_runtime.telemetry import log_fields

from heddle_orchestrator.tools.bindings import BoundTool, to_duration
from heddle_orchestrator.tools.confirmations import FUNCTION, RunConfirmations
from heddle_orchestrator.tools.failures import log_lost_tool

Events = list[pb.RunEvent]
_WAITS = "A tool would change something, and waits until you confirm it."
_NOT_CONNECTED = "Failed to connect to remote host"
"""A part of gRPC's reason if a call was never sent. After a lost connection, tools may run."""
_GRACE_SECONDS = 1.0
"""The number of seconds beyond the timeout, which the tools service enforces itself."""


@dataclass(frozen=True, slots=True)
class ToolRun:
    """Runs the tools of one request."""

    tools: ToolServiceAsyncStub
    context: Context
    request: tool_pb2.RunContext
    confirmations: RunConfirmations
    watched: bool
    """Whether the client reads the events while the tools run."""
    extra: tool_pb2.RunContext | None = None
    """The request, for tools that the client bound; None if there are none."""

    def call_options(self, timeout: float) -> CallOptions:
        """Return the metadata and the timeout of a call to the tools service.

        Every call on behalf of a run takes its options from here.
        """
        return call_options(self.context, timeout)


async def execute(
    run: ToolRun, bound: Sequence[BoundTool], earlier: Sequence[tool_pb2.EarlierResult] = ()
) -> AsyncGenerator[Events]:
    """Run tools in parallel and yield their events.

    A status comes when it happens. The end of a tool waits until the tools before it have ended,
    so that the order does not depend on which tool is faster. The outcomes are stored in `bound`. A
    tool that has already failed is reported and not run. Never raises: if the tools service is
    unavailable, each tool fails.
    """
    to_run = {b.id: b for b in bound if not b.error}
    ended = {b.id for b in bound if b.error}
    if run.watched and to_run:
        yield [_started(b) for b in to_run.values()]
    watch = Stopwatch()
    waiting = deque(bound)
    async for batch in _calls(run, list(to_run.values()), earlier):
        ready: Events = []
        for event in batch:
            b = to_run.get(event.id)
            if b is None or b.id in ended:
                continue
            match event.WhichOneof("event"):
                case "status" if run.watched:
                    ready.append(_status(b, event.status))
                case "result":
                    b.finish(event.result)
                    ended.add(b.id)
                case "error":
                    b.fail(event.error, event.slot, watch.seconds())
                    ended.add(b.id)
                case _:  # a status that nobody reads, or an event of a newer contract
                    continue
        while waiting and waiting[0].id in ended:
            ready.append(finished(waiting.popleft()))
        if ready:
            yield ready


async def _calls(
    run: ToolRun, bound: Sequence[BoundTool], earlier: Sequence[tool_pb2.EarlierResult]
) -> AsyncGenerator[Sequence[tool_pb2.ToolEvent]]:
    """Yield the events of all tools: the client's follow those of the assistant."""
    if not bound:
        yield ()
    for context in filter(None, (run.request, run.extra)):
        if tools := [b for b in bound if b.extra == (context is run.extra)]:
            async with aclosing(_call(run, context, tools, earlier)) as batches:
                async for batch in batches:
                    yield batch


async def _call(
    run: ToolRun,
    context: tool_pb2.RunContext,
    bound: Sequence[BoundTool],
    earlier: Sequence[tool_pb2.EarlierResult],
) -> AsyncGenerator[Sequence[tool_pb2.ToolEvent]]:
    """Yield the events of the tools service, and an error for each tool without a result."""
    missing = {b.id for b in bound}
    started = time.perf_counter()
    for b in bound:
        b.started = started
    request = tool_pb2.ExecuteToolsRequest(invocations=map(_invocation, bound), context=context)
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
        if not missing:
            return
        error = to_status(ProviderGarbledError("The tools service ended without a result."))
    except grpc.aio.AioRpcError as failure:
        error = to_status(from_rpc(failure))
        if _NOT_CONNECTED in (failure.details() or ""):
            for b in bound:
                b.started = None
    yield [tool_pb2.ToolEvent(id=b.id, error=error) for b in bound if b.id in missing]


def _invocation(bound: BoundTool) -> tool_pb2.ToolInvocation:
    invocation = tool_pb2.ToolInvocation(
        id=bound.id,
        name=bound.tool,
        config=bound.binding.config,
        slot=bound.binding.slot,
        on_change=bound.binding.on_change,
        timeout=to_duration(bound.timeout),
    )
    if bound.call is not None:
        invocation.function_call.name = bound.function
        invocation.function_call.arguments_json = bound.call.proto.arguments_json
    return invocation


def client_calls(calls: Sequence[chat_pb2.ToolCall]) -> Events:
    """Return the events of calls for the client. A run ends with them."""
    warnings = [pb.RunEvent(warning=_WAITS) for call in calls if call.name == FUNCTION]
    return [*warnings[:1], *(pb.RunEvent(tool_call=call) for call in calls)]


def fixed_answer(text: str) -> Events:
    """Return the events of an answer that no model generates."""
    done = chat_pb2.Done(finish_reason=chat_pb2.FINISH_REASON_STOP)
    return [pb.RunEvent(text_delta=text), pb.RunEvent(done=done)]


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
    return pb.RunEvent(tool_started=started)


def _called(bound: BoundTool) -> pb.CalledFunction | None:
    if (call := bound.call) is None:
        return None
    return pb.CalledFunction(id=call.id, name=call.name, arguments_json=call.shown)


def _warnings(bound: BoundTool) -> Sequence[str]:
    if not bound.has_no_slot or not (bound.text or bound.error):
        return bound.warnings
    warning = (
        f"The prompt template has no {{{bound.slot}}}, so the model does not receive "
        f"the output of {bound.tool}. Add the slot to the template, or remove the tool."
    )
    return [*bound.warnings, warning]


def finished(bound: BoundTool) -> pb.RunEvent:
    """Return the event of a tool's end. Logs that the answer does without a tool that failed."""
    log_fields.add_tool(bound.tool)
    failure = bound.failure
    # A model that wrote wrong arguments gets the error, and can call the function again.
    if failure and not (bound.call and isinstance(failure, InvalidRequestError)):
        log_lost_tool(bound.tool, failure.reason, failure.message)
    return pb.RunEvent(
        tool_finished=pb.ToolFinished(
            binding_id=bound.binding_id,
            tool=bound.tool,
            slot="" if bound.call else bound.slot,
            elapsed=bound.elapsed if bound.started is not None else None,
            error=bound.error,
            warnings=_warnings(bound),
            call=_called(bound),
            result_count=bound.result_count,
        )
    )
