"""Runs tools concurrently, each with its own timeout and isolated from the others."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import structlog
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors import HeddleError, ToolFailedError, to_status
from heddle_runtime.telemetry.metrics import table

from heddle_tools_service.contract.results import failure, late, progress
from heddle_tools_service.sdk import FileChange

log = structlog.get_logger(__name__)
_MAX_STATUSES = 200
_CANCELLATION_SECONDS = 1.0

Work = Coroutine[Any, Any, pb.ToolResult]


class Outbox:
    """Events that wait to be sent. Events that are ready together are taken together."""

    def __init__(self, runs: int) -> None:
        self._running = runs
        self._events: asyncio.Queue[pb.ToolEvent] = asyncio.Queue()

    def put(self, event: pb.ToolEvent) -> None:
        """Add an event. Only from the event loop's thread."""
        self._events.put_nowait(event)

    async def take(self) -> list[pb.ToolEvent]:
        """Wait for an event and return all that are ready; none if all runs have ended."""
        if not self._running:
            return []
        events = [await self._events.get()]
        while not self._events.empty():
            events.append(self._events.get_nowait())
        self._running -= sum(not event.HasField("status") for event in events)
        return events


class Run:
    """A run of a tool. It ends once: with its result, its failure, or its timeout."""

    def __init__(
        self,
        id_: str,
        tool: str,
        assistant: str,
        slot: str,
        seconds: float,
        outbox: Outbox,
        work: "Callable[[Run], Work]",
    ) -> None:
        self.tool = tool
        self._assistant = assistant
        self._slot = slot
        self.seconds = seconds
        self.over = False
        """Whether the run's last event was sent."""
        self.diagnosis = ""
        """The cause of its failure, for operators. The event does not carry it."""
        self._id = id_
        self._outbox = outbox
        self._statuses = 0
        self._loop = asyncio.get_running_loop()
        self._started = self._loop.time()
        self._timer = self._loop.call_later(seconds, self._time_is_up)
        self.task = self._loop.create_task(work(self))
        self.task.add_done_callback(self._ended)

    def status(self, message: str, change: FileChange | None = None) -> None:
        """Report what the tool does or has changed. Only from the event loop's thread."""
        # Hundreds of them are of no use, and they must not fill memory if the client reads slowly.
        if not self.over and self._statuses < _MAX_STATUSES:
            self._statuses += 1
            status = progress(message, change)
            self._outbox.put(pb.ToolEvent(id=self._id, status=status))

    def pass_on(self, status: pb.ToolStatus) -> None:
        """Report a status from a plugin's process, after a check: the process is not trusted."""
        change = status.change
        self.status(
            status.message,
            FileChange(change.path, change.reason, change.line_start, change.line_end, change.diff)
            if status.HasField("change")
            else None,
        )

    def status_from_thread(self, message: str, change: FileChange | None = None) -> None:
        """Report what the tool does or has changed, from any thread."""
        self._loop.call_soon_threadsafe(self.status, message, change)

    def stop(self) -> None:
        """End the run without an event: no caller waits for it any more."""
        self.over = True
        self._timer.cancel()
        self.task.cancel()
        self._measure("CANCELLED")

    def _end(self, end: pb.ToolResult | HeddleError) -> None:
        if self.over:
            return
        self.over = True
        self._timer.cancel()
        self._measure(end.reason if isinstance(end, HeddleError) else "")
        if isinstance(end, HeddleError):
            self.diagnosis = end.diagnosis
            log.warning(
                "tool run failed",
                tool=self.tool,
                assistant=self._assistant,
                code=end.code.name,
                error=end.message,
                diagnosis=end.diagnosis or None,
            )
            event = failed(self._id, end, self._slot)
        else:
            event = pb.ToolEvent(id=self._id)
            event.result.CopyFrom(end)
        self._outbox.put(event)

    def _measure(self, reason: str) -> None:
        seconds = self._loop.time() - self._started
        table.EXECUTE_TOOL.observe(seconds, self.tool, reason)

    def _time_is_up(self) -> None:
        # Sent at once: a tool that ignores its cancellation must not delay the others.
        self._end(late(self.tool, self.seconds))
        self.task.cancel()
        self._loop.call_later(_CANCELLATION_SECONDS, _report_uncancelled, {self.task: self.tool})

    def _ended(self, task: asyncio.Task[pb.ToolResult]) -> None:
        if task.cancelled():
            self._end(ToolFailedError(f"The tool {self.tool!r} stopped itself.", tool=self.tool))
        elif (error := task.exception()) is None:
            self._end(task.result())
        elif not self.over:
            self._end(failure(self.tool, error))


def failed(identifier: str, error: HeddleError, slot: str) -> pb.ToolEvent:
    """Return the event of a run that fails."""
    return pb.ToolEvent(id=identifier, error=to_status(error), slot=slot)


Begin = Callable[[pb.ToolInvocation, Outbox], Run | None]


@asynccontextmanager
async def running(invocations: Sequence[pb.ToolInvocation], begin: Begin) -> AsyncGenerator[Outbox]:
    """Begin all invocations and yield their outbox; on leaving, stop the runs that remain.

    Args:
        invocations: The tools to run.
        begin: Starts one run, or puts its failure into the outbox and returns nothing.
    """
    outbox = Outbox(len(invocations))
    runs: list[Run] = []
    try:
        for invocation in invocations:
            run = begin(invocation, outbox)
            if run is not None:
                runs.append(run)
        yield outbox
    finally:
        await _stop(runs)


async def _stop(runs: Sequence[Run]) -> None:
    tasks = {run.task: run.tool for run in runs if not run.over}
    if not tasks:
        return
    for run in runs:
        run.stop()
    await asyncio.wait(tasks, timeout=_CANCELLATION_SECONDS)
    _report_uncancelled(tasks)


def _report_uncancelled(tasks: Mapping[asyncio.Task[pb.ToolResult], str]) -> None:
    for task, tool in tasks.items():
        if not task.done():
            log.error("tool ignores its cancellation", tool=tool)
