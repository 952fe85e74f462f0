"""What the calls of the contract share: the way to the collections that callers mean."""

from typing import TYPE_CHECKING

from heddle_runtime.call_metadata import caller

from heddle_knowledge.access import caller_of, changeable, meant

if TYPE_CHECKING:  # the store loads the engine
    from collections.abc import Awaitable, Callable

    from heddle_knowledge.records import Collection
    from heddle_knowledge.store import KnowledgeStore


class Calls:
    """A part of the contract."""

    def __init__(self, store: "Callable[[], Awaitable[KnowledgeStore]]") -> None:
        """Take the way to the store, which opens it at first use."""
        self._store = store

    async def _readable(self, reference: str) -> "tuple[KnowledgeStore, Collection]":
        """Return the store, and the collection that the caller means and may read.

        Raises:
            CollectionNotFoundError: There is none.
        """
        store = await self._store()
        known = await store.collections.all()
        return store, meant(known.values(), caller_of(caller().identity), reference)

    async def _changeable(self, reference: str) -> "tuple[KnowledgeStore, Collection]":
        """Return the store, and the collection that the caller means and may change.

        Raises:
            CollectionNotFoundError: There is none that the caller may read.
            PermissionDeniedError: The caller may only read it.
        """
        store = await self._store()
        known = await store.collections.all()
        return store, changeable(known.values(), caller_of(caller().identity), reference)
