"""What waits to be written to a stream."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from heddle.multiplex.v1.multiplex_pb2 import CarryRequest, CarryResponse

LARGEST_BATCH = 1024 * 1024
BURST = 64
"""Frames after which whoever fills or empties a pipe without waiting has to let others run."""
BatchT = TypeVar("BatchT", CarryRequest, CarryResponse)


class SendQueue(Generic[BatchT]):
    """Collects frames while a write is under way, so that the next write takes them all.

    A frame that comes when nothing is under way is written at once: nothing waits for company.
    """

    def __init__(self, batch: Callable[[], BatchT]) -> None:
        self._batch: Callable[[], BatchT] = batch
        self._filling: BatchT = batch()
        self._size = 0
        self._full: deque[BatchT] = deque()
        self._idle: asyncio.Future[None] | None = None
        self._drained = asyncio.Event()
        self._closed = False

    @property
    def crowded(self) -> bool:
        """Whether more waits than the next write takes: the other end does not keep up."""
        return bool(self._full)

    def filling(self, size: int = 0) -> BatchT:
        """Return the batch to put a frame of about `size` bytes into, now."""
        if self._size and self._size + size > LARGEST_BATCH:
            self._full.append(self._filling)
            self._filling = self._batch()
            self._size = 0
        self._size += size + 1
        self._wake()
        return self._filling

    async def room(self) -> None:
        """Wait while the outbox is crowded. Lets others run in any case."""
        await asyncio.sleep(0)
        while self._full:
            self._drained.clear()
            await self._drained.wait()

    def close(self) -> None:
        """Let `run` return once everything is written."""
        self._closed = True
        self._wake()

    async def run(self, write: Callable[[BatchT], Awaitable[None]]) -> None:
        """Write batches until the outbox is closed and empty."""
        while True:
            if self._full:
                batch = self._full.popleft()
                if not self._full:
                    self._drained.set()
                await write(batch)
            elif self._size:
                batch, self._filling = self._filling, self._batch()
                self._size = 0
                await write(batch)
            elif self._closed:
                return
            else:
                self._idle = asyncio.get_running_loop().create_future()
                await self._idle

    def _wake(self) -> None:
        if self._idle is not None:
            if not self._idle.done():
                self._idle.set_result(None)
            self._idle = None
