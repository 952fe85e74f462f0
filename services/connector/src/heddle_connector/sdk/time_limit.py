"""Ends the work of an engine in this process before the deadline of its call."""

import asyncio
import math
from collections.abc import AsyncGenerator, Awaitable
from typing import TypeVar

ValueT = TypeVar("ValueT")
_MARGIN_SHARE = 0.2
_MAX_MARGIN_SECONDS = 2.0


class TimeLimit:
    """A moment before a deadline. What is ready by then can still reach the client in time.

    The margin is a fifth of the time, and at most two seconds.
    """

    def __init__(self, seconds: float) -> None:
        """Start the time.

        Args:
            seconds: Until the deadline; may be infinite.
        """
        self.seconds = seconds - min(seconds * _MARGIN_SHARE, _MAX_MARGIN_SECONDS)
        """From the start until the limit."""
        self.expired = False
        """Whether `bounded` or `wait` has reached the limit."""
        self._end = asyncio.get_running_loop().time() + self.seconds

    @property
    def left(self) -> float:
        """Seconds until the limit; negative after it."""
        return self._end - asyncio.get_running_loop().time()

    async def wait(self, result: Awaitable[ValueT]) -> ValueT:
        """Return a result.

        Raises:
            TimeoutError: The limit comes first. The work is cancelled.
        """
        try:
            async with asyncio.timeout_at(self._end if math.isfinite(self._end) else None):
                return await result
        except TimeoutError:
            self.expired = True
            raise

    async def bounded(self, values: AsyncGenerator[ValueT]) -> AsyncGenerator[ValueT]:
        """Yield values until they or the time end. At the limit, `values` is cancelled."""
        while True:
            try:
                value = await self.wait(anext(values))
            except (StopAsyncIteration, TimeoutError):
                return
            yield value
