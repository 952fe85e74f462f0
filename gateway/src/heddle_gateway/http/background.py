"""Answers that end although no client waits for them."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress


class BackgroundRun:
    """An answer that runs in the background, and its frames so far."""

    def __init__(self, owner: tuple[str, str]) -> None:
        """Take the organisation and the person that it belongs to."""
        self.owner = owner
        self.frames: list[bytes] = []
        self.is_done = False
        self.changed = asyncio.Event()
        """Replaced by another one when it is set."""
        self.task: asyncio.Task[None] | None = None
        self.cancelled = False

    def collect(self, frames: bytes) -> None:
        """Add frames, which have not been announced yet."""
        self.frames += split_frames(frames)

    def notify(self) -> None:
        """Announce what is new."""
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()


class BackgroundRuns(dict[str, BackgroundRun]):
    """The answers that run in the background in this process, by their identifiers."""

    async def cancel(self, identifier: str) -> None:
        """Cancel an answer if it runs in this process, and wait for its end."""
        run = self.get(identifier)
        if run is not None and run.task is not None:
            run.cancelled = True
            run.task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait({run.task})


class BackgroundTasks:
    """Work after answers that no client waits for. It ends by itself."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[None, None, None]) -> None:
        """Begin some work, as the caller of the current task."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def split_frames(frames: bytes) -> list[bytes]:
    """Return server-sent events one by one."""
    return [each + b"\n\n" for each in frames.split(b"\n\n") if each]
