"""Upkeep of tables in a process of its own, so that searches feel little of it.

Merging fragments and making an index of vectors keep a core busy for minutes. What the process has
not finished when it dies is as it was.
"""

import asyncio
import os
from collections.abc import Mapping
from functools import partial

import msgspec
import structlog

from heddle_knowledge.engines.interface import Snapshot
from heddle_knowledge.errors import StorageError
from heddle_knowledge.workers.idle_worker import IdleWorker
from heddle_knowledge.workers.worker import WorkerProcess

log = structlog.get_logger(__name__)
_MODULE = "heddle_knowledge.compaction.worker"
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


class CompactionRequest(msgspec.Struct, frozen=True):
    """What to do for a collection, and where the store is.

    Attributes:
        place: Where the store is.
        options: What its object store has to be told.
        collection: Its id.
        ann_rows: From how many rows on its vectors are indexed.
        building: The state whose vectors are being indexed, and whose files are to be spared.
        build: The state whose vectors to index; otherwise the files are put in order.
    """

    place: str
    options: dict[str, str]
    collection: str
    ann_rows: int
    building: Snapshot | None = None
    build: Snapshot | None = None


class CompactionReply(msgspec.Struct, frozen=True):
    """The state whose vectors are to be indexed next, if any."""

    due: Snapshot | None = None


class Compaction:
    """Puts collections of one store in order, one after the other.

    Vectors are indexed beside it by a second process: that takes minutes, in which new words would
    have to be read one by one.
    """

    def __init__(self, place: str, options: Mapping[str, str], ann_rows: int) -> None:
        self._place = place
        self._options = dict(options)
        self._ann_rows = ann_rows
        self._turn = asyncio.Lock()
        self._files = IdleWorker(_process, _IDLE)
        self._vectors = IdleWorker(_process, _IDLE)
        self._builds: dict[str, tuple[Snapshot, asyncio.Task[None]]] = {}

    async def tidy(self, collection: str) -> None:
        """Put a collection in order, and begin to index its vectors if they are due.

        Raises:
            StorageError: It could not be done; nothing is lost.
        """
        async with self._turn:
            building, _ = self._builds.get(collection, (None, None))
            due = await self._asked(self._files, collection, building=building)
            if due is not None and building is None:
                task = asyncio.create_task(self._build(collection, due))
                task.add_done_callback(partial(_told, collection))
                self._builds[collection] = due, task

    async def built(self, collection: str) -> None:
        """Wait for the end of the indexing of a collection's vectors, if it is under way.

        Raises:
            StorageError: It could not be done; nothing is lost.
        """
        while collection in self._builds:
            _, task = self._builds[collection]
            await asyncio.shield(task)

    async def aclose(self) -> None:
        """End the processes, whatever they do."""
        tasks = [task for _, task in self._builds.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._vectors.aclose()
        await self._files.aclose()

    async def _build(self, collection: str, snapshot: Snapshot) -> None:
        try:
            await self._asked(self._vectors, collection, build=snapshot)
        finally:
            del self._builds[collection]
        await self.tidy(collection)  # what was spared, and what was written meanwhile

    async def _asked(
        self,
        worker: IdleWorker,
        collection: str,
        *,
        building: Snapshot | None = None,
        build: Snapshot | None = None,
    ) -> Snapshot | None:
        request = CompactionRequest(
            self._place, self._options, collection, self._ann_rows, building, build
        )
        reply = await worker.call(
            request,
            CompactionReply,
            failed=StorageError("The upkeep of a collection ended early."),
        )
        return reply.due


def _told(collection: str, build: asyncio.Task[None]) -> None:
    """Log the failure of an indexing: it is begun again after the next commit."""
    if not build.cancelled() and (error := build.exception()) is not None:
        log.error("knowledge_maintenance_failed", collection=collection, exc_info=error)


def _process() -> WorkerProcess:
    return WorkerProcess(
        _MODULE, seconds=_LONGEST, refusal=StorageError, environment=_environment()
    )


def _environment() -> dict[str, str]:
    """Return what the process needs to reach the store as this one does."""
    own = {name: value for name, value in os.environ.items() if name.startswith(_PASSED_ON)}
    return own | _ONE_THREAD
