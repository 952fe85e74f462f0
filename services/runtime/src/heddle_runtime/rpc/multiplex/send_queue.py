"""The queue of frames that wait to be written to a stream."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from heddle.multiplex.v1.multiplex_pb2 import CarryRequest, CarryResponse

MAX_BATCH_BYTES = 1024 * 1024
FRAMES_PER_TURN = 64
"""Frames after which a task that fills or empties a stream must let other tasks run."""
BatchT = TypeVar("BatchT", CarryRequest, CarryResponse)


class SendQueue(Generic[BatchT]):
    """Collects frames while a write is in progress; the next write sends all of them together.

    A frame that arrives while no write is in progress is written immediately.
    """

    def __init__(self, batch: Callable[[], BatchT]) -> None:
        self._new_batch: Callable[[], BatchT] = batch
        self._filling: BatchT = batch()
        self._size = 0
        self._full: deque[BatchT] = deque()
        self._idle: asyncio.Future[None] | None = None
        self._drained = asyncio.Event()
        self._closed = False

    @property
    def is_full(self) -> bool:
        """Whether more frames wait than one write sends, because the reader is too slow."""
        return bool(self._full)

    def batch(self, size: int = 0) -> BatchT:
        """Return the batch that a frame of about `size` bytes belongs to. Add the frame at once."""
        if self._size and self._size + size > MAX_BATCH_BYTES:
            self._full.append(self._filling)
            self._filling = self._new_batch()
            self._size = 0
        self._size += size + 1
        self._wake()
        return self._filling

    async def wait_for_room(self) -> None:
        """Wait while the queue is full. Always lets other tasks run."""
        await asyncio.sleep(0)
        while self._full:
            self._drained.clear()
            await self._drained.wait()

    def close(self) -> None:
        """Let `run` return when everything is written."""
        self._closed = True
        self._wake()

    async def run(self, write: Callable[[BatchT], Awaitable[None]]) -> None:
        """Write batches until the queue is closed and empty."""
        while True:
            if self._full:
                batch = self._full.popleft()
                if not self._full:
                    self._drained.set()
                await write(batch)
            elif self._size:
                batch, self._filling = self._filling, self._new_batch()
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
