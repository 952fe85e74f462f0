"""The process that puts tables in order: `python -m heddle_knowledge.compaction.worker`.

It has the lowest priority and one thread for computing: searches go first.
"""

import asyncio
import os
import time

from heddle_knowledge.compaction.client import CompactionReply, CompactionRequest
from heddle_knowledge.engines.interface import Snapshot
from heddle_knowledge.errors import CollectionNotFoundError, KnowledgeError, StorageError
from heddle_knowledge.workers.serving import serve

_NICER = 9  # on top of what `serve` does: 19, as low as it gets
_PRUNED_EVERY = 60.0  # seconds; it reads a file for each version that is kept


def main() -> None:
    """Do what the service asks for, until it goes."""
    os.nice(_NICER)
    serve(Work().answer, CompactionRequest, refusal=StorageError)


class Work:
    """What the process does, and when it did some of it."""

    def __init__(self) -> None:
        self._pruned: dict[str, float] = {}

    def answer(self, request: CompactionRequest) -> CompactionReply:
        """Do what a request asks for."""
        try:
            return CompactionReply(asyncio.run(self._done(request)))
        except CollectionNotFoundError:  # deleted meanwhile
            return CompactionReply()
        except KnowledgeError as error:
            raise StorageError(f"{error} {error.__cause__ or ''}") from error

    async def _done(self, request: CompactionRequest) -> Snapshot | None:
        # Loading the engine takes seconds, in which the process already goes when its parent does.
        from heddle_knowledge.collection_handle import index_vectors, tidy  # noqa: PLC0415
        from heddle_knowledge.collection_store import open_collection_store  # noqa: PLC0415
        from heddle_knowledge.engines.address import open_engine  # noqa: PLC0415

        async with (
            open_engine(request.place, request.options) as engine,
            open_collection_store(engine) as collection_store,
        ):
            handle = await collection_store.open(
                await collection_store.registry.get(request.collection)
            )
            if request.build is not None:
                _give_way()
                await index_vectors(handle, request.build)
                return None
            return await tidy(
                handle,
                ann_rows=request.ann_rows,
                building=request.building,
                prune=self._prunes(request.collection),
            )

    def _prunes(self, collection: str) -> bool:
        """Say whether it is time again to look for what earlier versions left."""
        now = time.monotonic()
        if now - self._pruned.get(collection, -_PRUNED_EVERY) < _PRUNED_EVERY:
            return False
        self._pruned[collection] = now
        return True


def _give_way() -> None:
    """Let every other process go first, at once: the lowest priority still takes its turns.

    Only for work that holds no lock which others wait for.
    """
    if hasattr(os, "SCHED_IDLE"):  # Linux
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


if __name__ == "__main__":
    main()
