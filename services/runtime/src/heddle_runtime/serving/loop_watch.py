"""Logs where the event loop of this process is blocked."""

import asyncio
import sys
import threading
import time
import traceback
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import structlog

from heddle_runtime.serving.background import in_background
from heddle_runtime.telemetry.metrics import gauges

log = structlog.get_logger(__name__)
BLOCKED_SECONDS = 2.0
_FRAMES = 6


@asynccontextmanager
async def watched_loop(blocked_seconds: float = BLOCKED_SECONDS) -> AsyncGenerator[None]:
    """Log a warning with the running code when the loop is blocked, while the block runs.

    Other processes notice a blocked loop by its heartbeats, but cannot say what blocks it. The
    thread that logs needs Python's lock, so it stays silent for code that holds it.
    """
    watch = _Watch(threading.get_ident(), blocked_seconds)
    async with in_background(watch.beat()):
        watch.start()
        try:
            yield
        finally:
            watch.stop.set()


class _Watch(threading.Thread):
    def __init__(self, loop_thread: int, blocked_seconds: float) -> None:
        super().__init__(name="heddle-loop-watch", daemon=True)
        self.stop = threading.Event()
        self._loop_thread = loop_thread
        self._blocked_seconds = blocked_seconds
        self._last_beat = time.monotonic()

    async def beat(self) -> None:
        """Show from the loop that it runs."""
        while True:
            self._last_beat = time.monotonic()
            await asyncio.sleep(self._blocked_seconds / 4)
            late = time.monotonic() - self._last_beat - self._blocked_seconds / 4
            gauges.add_loop_lag(late)

    def run(self) -> None:
        """Compare the time with the last beat."""
        reported = 0.0
        while not self.stop.wait(self._blocked_seconds / 4):
            last = self._last_beat
            if time.monotonic() - last < self._blocked_seconds or last == reported:
                continue
            reported = last
            frame = sys._current_frames().get(self._loop_thread)  # noqa: SLF001 - documented
            stack = traceback.extract_stack(frame)[-_FRAMES:] if frame else []
            log.warning(
                "event loop blocked",
                running=[f"{each.filename}:{each.lineno} {each.name}" for each in stack],
            )
