"""A call of a tool that a plugin's process carries out, as the service sees it."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from heddle_runtime.errors import ToolFailedError

from heddle_tools_service.workers import frames
from heddle_tools_service.workers.capability_calls import CapabilityCalls

_MAX_FRAMES = 20_000
"""The maximum number of messages that a plugin may send in one call of a tool."""


class CallInProcess:
    """Handles the frames that a plugin's process sends for one call."""

    def __init__(self, capabilities: CapabilityCalls, on_event: Callable[[bytes], None]) -> None:
        """Begin a call.

        Args:
            capabilities: Carry out what the tool calls.
            on_event: Receives the tool's statuses.
        """
        self.capabilities = capabilities
        self._on_event = on_event
        self._begun = asyncio.Event()
        self._ended: asyncio.Future[frames.Ended] = asyncio.get_running_loop().create_future()
        self._frames = 0
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def is_over(self) -> bool:
        """Whether the process has sent the end of the call."""
        return self._ended.done()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Start work that the tool has requested; it ends with the call at the latest."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def stop(self) -> None:
        """Cancel all work that the tool has requested."""
        for task in self._tasks:
            task.cancel()

    async def begins(self, seconds: float) -> bool:
        """Return whether the process begins the call within `seconds`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._begun.wait()
        return self._begun.is_set()

    async def end(self) -> frames.Ended:
        """Wait for the end of the call.

        Raises:
            ToolFailedError: The process has ended.
        """
        return await self._ended

    def take(self, message: frames.Begun | frames.Event | frames.Ended) -> None:
        """Receive a message."""
        self.count()
        if self.is_over:
            return
        match message:
            case frames.Begun():
                self._begun.set()
            case frames.Event():
                self._on_event(message.event)
            case frames.Ended():
                self._ended.set_result(message)

    def count(self) -> None:
        """Count a message.

        Raises:
            ValueError: The plugin sends too many.
        """
        self._frames += 1
        if self._frames > _MAX_FRAMES:
            message = f"a plugin sends more than {_MAX_FRAMES:,} messages in one call"
            raise ValueError(message)

    def fail(self, error: ToolFailedError) -> None:
        """End the call, because the process has ended."""
        if not self.is_over:
            self._ended.set_exception(error)
            self._ended.exception()  # nobody may wait for it
        self._begun.set()
