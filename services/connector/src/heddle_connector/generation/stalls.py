"""Ends streamed answers whose provider stops sending."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Self

from heddle_connector.generation.events import Event
from heddle_connector.http.errors import stalled


class LimitedBatches:
    """Iterates over the batches of an answer, and limits the time between two of them.

    The first events may take until the deadline of the call. After them, an empty batch counts as
    well: the provider is alive. The time in which the reader does something else does not count.
    A timer looks now and then when the last batch came; a timer for each batch would cost more than
    the batch.
    """

    __slots__ = ("_batches", "_expired", "_loop", "_reader", "_seconds", "_since", "_timer")

    def __init__(self, batches: AsyncGenerator[Sequence[Event]], seconds: float) -> None:
        self._batches = batches
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._reader: asyncio.Task[object] | None = None
        self._since = 0.0
        self._expired = False
        self._timer: asyncio.TimerHandle | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Sequence[Event]:
        self._since = self._loop.time()
        self._reader = asyncio.current_task()
        try:
            batch = await anext(self._batches)
        except asyncio.CancelledError:
            if self._expired and self._reader is not None and self._reader.uncancel() == 0:
                raise stalled() from None
            raise
        finally:
            self._reader = None
        if self._timer is None and batch:
            self._timer = self._loop.call_later(self._seconds, self._check)
        return batch

    async def aclose(self) -> None:
        """End the answer."""
        if self._timer is not None:
            self._timer.cancel()
        await self._batches.aclose()

    def _check(self) -> None:
        silent = self._loop.time() - self._since if self._reader is not None else 0.0
        if silent >= self._seconds and self._reader is not None:
            self._expired = True
            self._reader.cancel()
        else:
            self._timer = self._loop.call_later(self._seconds - silent, self._check)
