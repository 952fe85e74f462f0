"""A worker process that ends when nobody has asked it for a while, and starts again when asked."""

import asyncio
from collections.abc import Callable

from heddle_knowledge.workers.worker import ReplyT, WorkerProcess


class IdleWorker:
    """Stands for a worker process where one is needed now and then. See `WorkerProcess`."""

    def __init__(self, make: Callable[[], WorkerProcess], idle: float) -> None:
        """Prepare: `make` says what runs, `idle` how many seconds it may have nothing to do."""
        self._make = make
        self._idle = idle
        self._worker: WorkerProcess | None = None
        self._asking = 0
        self._resting: asyncio.Task[None] | None = None

    async def call(self, request: object, reply_type: type[ReplyT], *, failed: Exception) -> ReplyT:
        """Send one request and return its reply."""
        if self._resting is not None:
            self._resting.cancel()
        self._worker = self._worker or self._make()
        self._asking += 1
        try:
            return await self._worker.call(request, reply_type, failed=failed)
        finally:
            self._asking -= 1
            if not self._asking:
                self._resting = asyncio.create_task(self._rest())

    async def aclose(self) -> None:
        """End the process, whatever it does."""
        if self._worker is not None:
            await self._worker.aclose()
        if self._resting is not None:
            self._resting.cancel()
            await asyncio.wait([self._resting])

    async def _rest(self) -> None:
        await asyncio.sleep(self._idle)
        worker, self._worker = self._worker, None
        if worker is not None:  # whoever asks now starts another, and leaves this one to its end
            await asyncio.shield(worker.aclose())
