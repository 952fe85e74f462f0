"""Upkeep of tables in a process of its own, so that searches feel little of it.

Merging fragments and making an index of vectors keep a core busy for minutes. What the process has
not finished when it dies is as it was.
"""

import asyncio
import os
from collections.abc import Mapping

import msgspec

from heddle_tools_service.knowledge.asking import asked
from heddle_tools_service.knowledge.errors import StorageError
from heddle_tools_service.knowledge.workers.worker import WorkerProcess

_MODULE = "heddle_tools_service.knowledge.upkeep.worker"
_LONGEST = 6 * 3600.0
"""Seconds that one table may take: an index of some million vectors on one core."""
_IDLE = 30.0
"""Seconds after which the process ends, for it holds 200 MiB."""
_ONE_THREAD = {
    "LANCE_CPU_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "TOKIO_WORKER_THREADS": "1",
}
_PASSED_ON = ("AWS_", "PG", "SSL_CERT")


class UpkeepRequest(msgspec.Struct, frozen=True):
    """A collection to put in order, and where the store is."""

    place: str
    options: dict[str, str]
    collection: str
    ann_rows: int


class UpkeepReply(msgspec.Struct, frozen=True):
    """That it is done; or, for the log, why it is not."""

    error: str = ""


class Upkeep:
    """Puts collections of one store in order, one after the other."""

    def __init__(self, place: str, options: Mapping[str, str], ann_rows: int) -> None:
        self._place = place
        self._options = dict(options)
        self._ann_rows = ann_rows
        self._turn = asyncio.Lock()
        self._worker: WorkerProcess | None = None
        self._resting: asyncio.Task[None] | None = None

    async def tidy(self, collection: str) -> None:
        """Put a collection in order.

        Raises:
            StorageError: It could not be done; nothing is lost.
        """
        async with self._turn:
            if self._resting is not None:
                self._resting.cancel()
            try:
                await self._asked(collection)
            finally:
                self._resting = asyncio.create_task(self._rest())

    async def aclose(self) -> None:
        """End the process, whatever it does."""
        if self._resting is not None:
            self._resting.cancel()
            await asyncio.wait([self._resting])
        if self._worker is not None:
            await self._worker.aclose()

    async def _asked(self, collection: str) -> None:
        self._worker = self._worker or WorkerProcess(
            _MODULE, seconds=_LONGEST, environment=_environment()
        )
        request = UpkeepRequest(self._place, self._options, collection, self._ann_rows)
        reply = await asked(
            self._worker,
            msgspec.msgpack.encode(request),
            UpkeepReply,
            failed=StorageError("The upkeep of a collection ended early."),
        )
        if reply.error:
            raise StorageError(reply.error)

    async def _rest(self) -> None:
        await asyncio.sleep(_IDLE)
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.aclose()


def _environment() -> dict[str, str]:
    """Return what the process needs to reach the store as this one does."""
    own = {name: value for name, value in os.environ.items() if name.startswith(_PASSED_ON)}
    return own | _ONE_THREAD
