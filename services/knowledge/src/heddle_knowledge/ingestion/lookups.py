"""Documents looked up by name: a query of the engine for all who ask at the same time."""

from collections.abc import Sequence

from heddle_knowledge.collection_handle import CollectionHandle
from heddle_knowledge.ingestion.batching import Groups, Together
from heddle_knowledge.records import Document
from heddle_knowledge.tables import find_documents

_MOST = 128


class Lookups:
    """Finds documents as they stand when they are asked for."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._groups: Groups[str, Document | None] = Groups()

    async def find(self, handle: CollectionHandle, name: str) -> Document | None:
        """Return a document of a collection, or None.

        Raises:
            CollectionNotFoundError: The collection was deleted meanwhile.
            StorageError: The engine failed.
        """

        async def find_all(names: Sequence[str]) -> list[Document | None]:
            known = await find_documents(handle.table, names)
            return [known.get(each) for each in names]

        return await self._groups.ask(
            handle.collection.id, lambda: Together(find_all, _fitting, turn=handle.using), name
        )

    async def aclose(self) -> None:
        """End; whoever still waits fails."""
        await self._groups.aclose()


def _fitting(waiting: Sequence[str]) -> int:
    return min(len(waiting), _MOST)
