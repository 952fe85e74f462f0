"""Runs tools: all at once, each with its own time, none able to disturb another."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import structlog
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors import HeddleError, ToolFailedError

from heddle_tools_service.result_mapping import failure, late, progress
from heddle_tools_service.sdk import FileChange

log = structlog.get_logger(__name__)
_MAX_STATUSES = 200
_LAST_WORDS = 1.0

Happening = pb.ToolStatus | pb.ToolResult | HeddleError
"""What happens in a run: a status, and then once its result or failure."""
Work = Coroutine[Any, Any, pb.ToolResult]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in one run."""

    id: str
    what: Happening
    slot: str = ""
    """The slot that the run fills, told with a failure; a result knows its own."""

    @property
    def last(self) -> bool:
        """Whether nothing more comes of the run."""
        return not isinstance(self.what, pb.ToolStatus)


class Outbox:
    """Events that wait to be sent. A list and one future: what is ready together goes together."""

    __slots__ = ("_expected", "_ready", "_waiter")

    def __init__(self, runs: int) -> None:
        self._expected = runs
        self._ready: list[Event] = []
        self._waiter: asyncio.Future[None] | None = None

    def put(self, event: Event) -> None:
        """Add an event. Only from the event loop's thread."""
        self._ready.append(event)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def take(self) -> list[Event]:
        """Return everything that is ready, as soon as there is something.

        Nothing, once all runs have ended.
        """
        if self._expected and not self._ready:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        ready, self._ready = self._ready, []
        self._expected -= sum(event.last for event in ready)
        return ready


class Run:
    """One tool at work. It ends once: with its result, its failure, or the end of its time."""

    def __init__(
        self,
        id_: str,
        tool: str,
        slot: str,
        seconds: float,
        outbox: Outbox,
        work: "Callable[[Run], Work]",
    ) -> None:
        self.tool = tool
        self._slot = slot
        self.seconds = seconds
        self.over = False
        """Whether it was told how the run ended."""
        self._id = id_
        self._outbox = outbox
        self._statuses = 0
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(seconds, self._time_is_up)
        self.task = self._loop.create_task(work(self))
        self.task.add_done_callback(self._ended)

    def status(self, message: str, change: FileChange | None = None) -> None:
        """Tell what the tool is doing, or has changed. Only from the event loop's thread."""
        # Nobody reads hundreds of them, and they must not fill the memory of a slow reader's call.
        if not self.over and self._statuses < _MAX_STATUSES:
            self._statuses += 1
            self._outbox.put(Event(self._id, progress(message, change)))

    def status_from_thread(self, message: str, change: FileChange | None = None) -> None:
        """Tell what the tool is doing, or has changed, from any thread."""
        self._loop.call_soon_threadsafe(self.status, message, change)

    def stop(self) -> None:
        """End the run without a word: nobody waits for it any more."""
        self.over = True
        self._timer.cancel()
        self.task.cancel()

    def _end(self, what: pb.ToolResult | HeddleError) -> None:
        if self.over:
            return
        self.over = True
        self._timer.cancel()
        if isinstance(what, HeddleError):
            log.warning("tool run failed", tool=self.tool, code=what.code.name)
        self._outbox.put(Event(self._id, what, self._slot))

    def _time_is_up(self) -> None:
        # Told at once: a tool that ignores its cancellation must not keep the others waiting.
        self._end(late(self.tool, self.seconds))
        self.task.cancel()
        self._loop.call_later(_LAST_WORDS, _report_deaf, {self.task: self.tool})

    def _ended(self, task: asyncio.Task[pb.ToolResult]) -> None:
        if task.cancelled():
            self._end(ToolFailedError(f"The tool {self.tool!r} stopped itself.", tool=self.tool))
        elif (error := task.exception()) is None:
            self._end(task.result())
        elif not self.over:
            self._end(failure(self.tool, error))


Begin = Callable[[pb.ToolInvocation, Outbox], Run | None]


@asynccontextmanager
async def running(invocations: Sequence[pb.ToolInvocation], begin: Begin) -> AsyncGenerator[Outbox]:
    """Begin all invocations and yield where their events arrive; on leaving, stop what still runs.

    Args:
        invocations: What to run.
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
    await asyncio.wait(tasks, timeout=_LAST_WORDS)
    _report_deaf(tasks)


def _report_deaf(tasks: Mapping[asyncio.Task[pb.ToolResult], str]) -> None:
    for task, tool in tasks.items():
        if not task.done():
            log.error("tool ignores its cancellation", tool=tool)
