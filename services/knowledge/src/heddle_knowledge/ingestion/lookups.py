"""Looks documents up by name, with one query of the engine for concurrent requests."""

from collections.abc import Sequence

from heddle_knowledge.collection.handle import CollectionHandle
from heddle_knowledge.collection.tables import find_documents
from heddle_knowledge.collection.types import Document
from heddle_knowledge.ingestion.batching import Batcher, KeyedBatcher

_MAX_NAMES = 128


class Lookups:
    """Finds documents in their current state."""

    def __init__(self) -> None:
        """Begin without requests."""
        self._batches: KeyedBatcher[str, Document | None] = KeyedBatcher()

    async def find(self, handle: CollectionHandle, name: str) -> Document | None:
        """Return a document of a collection, or None.

        Raises:
            CollectionNotFoundError: The collection was deleted meanwhile.
            StorageError: The engine failed.
        """

        async def find_all(names: Sequence[str]) -> list[Document | None]:
            known = await find_documents(handle.table, names)
            return [known.get(name) for name in names]

        return await self._batches.submit(
            handle.collection.id, lambda: Batcher(find_all, _batch_size, lock=handle.using), name
        )

    async def aclose(self) -> None:
        """Stop; unfinished requests fail with `StorageError`."""
        await self._batches.aclose()


def _batch_size(waiting: Sequence[str]) -> int:
    return min(len(waiting), _MAX_NAMES)
