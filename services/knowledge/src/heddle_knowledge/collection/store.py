"""Creates, opens and deletes collections, also after a crash at any moment.

A collection exists when the catalogue has it. Its table is made before that and dropped after, so
a crash in between leaves at worst a table without a record, which the next opening drops.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import structlog

from heddle_knowledge.collection import tables
from heddle_knowledge.collection.handle import CollectionHandle
from heddle_knowledge.collection.registry import CollectionRegistry
from heddle_knowledge.collection.types import EMBEDDED, Collection
from heddle_knowledge.engines.interface import Engine, Table
from heddle_knowledge.engines.released_memory import release_memory
from heddle_knowledge.errors import CollectionNotFoundError, StorageError

IDLE_SECONDS = 60.0
"""After the last use of a collection, when memory is given back."""
_STORE = "store"
log = structlog.get_logger(__name__)


@asynccontextmanager
async def open_collection_store(
    engine: Engine,
    idle_seconds: float = IDLE_SECONDS,
    resting: Callable[[], None] = lambda: None,
) -> AsyncGenerator["CollectionStore"]:
    """Open the collections of an engine, and sweep it.

    Args:
        engine: What stores their tables.
        idle_seconds: After the last use of a collection, when memory is given back.
        resting: Called then, to give back more.

    Raises:
        StorageError: It cannot be read or written.
    """
    try:
        async with engine.locks.locked(_STORE):
            collection_store = CollectionStore(engine, await CollectionRegistry.opened(engine))
            await collection_store.sweep()
    except engine.failures as error:
        raise StorageError(
            "The knowledge store cannot be opened. Check where it is kept: its address, its "
            "permissions, and the log of the knowledge service."
        ) from error
    idling = asyncio.create_task(collection_store.rest_when_idle(idle_seconds, resting))
    try:
        yield collection_store
    finally:
        idling.cancel()
        await asyncio.wait([idling])
        collection_store.close()


class CollectionStore:
    """The open store. Made by `open_collection_store`."""

    def __init__(self, engine: Engine, registry: CollectionRegistry) -> None:
        self.registry = registry
        self.engine = engine.name
        """The name of the storage engine, for metrics and traces."""
        self._engine = engine
        self._tables: dict[str, Table] = {}
        self._used = asyncio.Event()
        self._used_at = 0.0

    async def add(self, collection: Collection) -> None:
        """Create the tables and the record of a collection.

        Raises:
            CollectionExistsError: The name is taken.
        """
        async with self._engine.locks.locked(_STORE):
            taken = await self.registry.taken(collection)
            if collection.backend == EMBEDDED and not taken:
                layout = tables.layout(collection.dim, collection.language)
                name = _table(collection)
                self._tables[name] = await self._engine.make(name, layout)
            await self.registry.add(collection)

    async def open(self, collection: Collection) -> CollectionHandle:
        """Open an embedded collection.

        Raises:
            CollectionNotFoundError: It was deleted meanwhile.
        """
        layout = tables.layout(collection.dim, collection.language)
        name = _table(collection)
        self._used_at = asyncio.get_running_loop().time()
        self._used.set()
        if name not in self._tables:
            known = await self.registry.all()
            for gone in [each for each in self._tables if each.partition("_")[2] not in known]:
                del self._tables[gone]  # deleted by another process
            try:
                opened = await self._engine.open(name, layout)
            except self._engine.failures as error:
                raise CollectionNotFoundError(
                    f"The collection {collection.name!r} was just deleted. Create it again first."
                ) from error
            self._tables[name] = opened
        return CollectionHandle(collection, self._tables[name], self._engine, self.registry)

    async def change(self, collection: Collection) -> None:
        """Store the changed record of a collection.

        Raises:
            CollectionNotFoundError: It was deleted meanwhile.
        """
        async with self._engine.locks.locked(_STORE):
            await self.registry.change(collection)

    async def remove(self, collection: Collection) -> None:
        """Delete a collection with all that it holds.

        Raises:
            CollectionNotFoundError: It was deleted meanwhile.
        """
        if collection.backend != EMBEDDED:
            async with self._engine.locks.locked(_STORE):
                await self.registry.remove(collection)
            return
        handle = await self.open(collection)
        # In this order, for a commit under way ends first.
        async with handle.writing(), self._engine.locks.locked(_STORE):
            await self.registry.remove(collection)
            self._tables.pop(_table(collection), None)
            await self._engine.drop(_table(collection))
            await self._engine.locks.forget(await self.registry.all())

    async def sweep(self) -> None:
        """Drop tables and locks without a record. The store's lock must be held."""
        ids = list(await self.registry.all())
        await self._engine.locks.forget(ids)
        for name in await self._engine.names():
            id_ = name.partition("_")[2]
            if id_ and id_ not in ids and await self._engine.left_over(name):
                await self._engine.drop(name)

    async def rest_when_idle(self, seconds: float, resting: Callable[[], None]) -> None:
        """Give back memory whenever no collection was used for so many seconds."""
        loop = asyncio.get_running_loop()
        while True:
            await self._used.wait()
            left = self._used_at + seconds - loop.time()
            if left > 0:
                await asyncio.sleep(left)
                continue
            self._used.clear()
            try:
                resting()
                self._tables.clear()  # not closed: calls under way go on
                await self._engine.rest()
                await self.registry.reopen()
                release_memory()
            except Exception:
                log.exception("knowledge_memory_not_released")

    def close(self) -> None:
        """Close every table."""
        for table in self._tables.values():
            table.close()
        self._tables.clear()


def _table(collection: Collection) -> str:
    return f"{tables.KIND}_{collection.id}"
