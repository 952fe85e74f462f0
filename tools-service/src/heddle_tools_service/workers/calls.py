"""A call of a tool that a plugin's process carries out, as the service sees it."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from heddle_runtime.errors import ToolFailedError
from heddle_runtime.identity.call_metadata import Caller

from heddle_tools_service.workers import frames
from heddle_tools_service.workers.capability_calls import CapabilityCalls

_MAX_FRAMES = 20_000
"""The maximum number of messages that a plugin may send in one call of a tool."""


@dataclass(frozen=True, slots=True)
class CallRequest:
    """A request to a plugin, which any of its processes can carry out."""

    kind: frames.Kind
    message: bytes
    """The request of the tool contract."""
    seconds: float
    """Until the deadline of the call."""
    caller: Caller
    """Without the token and the grant that prove it."""
    capabilities: CapabilityCalls
    """Carry out what the tool calls."""
    on_event: Callable[[bytes], None]
    """Receives the tool's statuses."""


class CallInProcess:
    """Handles the frames that a plugin's process sends for one call."""

    def __init__(self, request: CallRequest) -> None:
        """Begin a call."""
        self.request = request
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
                self.request.on_event(message.event)
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
