"""An open collection: its tables, the lock around its commits, the meaning of its failures."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

from heddle_knowledge.collection_registry import CollectionRegistry
from heddle_knowledge.engines.interface import Engine, Layout, Snapshot, Table
from heddle_knowledge.errors import (
    CollectionNotFoundError,
    KnowledgeError,
    StorageError,
)
from heddle_knowledge.records import Collection


@dataclass(frozen=True, slots=True)
class CollectionHandle:
    """What is needed to read and write one collection.

    Attributes:
        collection: Its record.
        table: The open table of its chunks.
        engine: What keeps the tables.
        registry: The list that says whether the collection still exists.
        beside: Opens a further table of the collection by its layout, and makes it at first use.
            It goes with the collection. A commit to it is one of its own.
    """

    collection: Collection
    table: Table
    engine: Engine
    registry: CollectionRegistry
    beside: Callable[[Layout], Awaitable[Table]]

    async def check_exists(self) -> None:
        """Make sure that nobody has deleted the collection meanwhile.

        Raises:
            CollectionNotFoundError: Somebody has.
        """
        if self.collection.id not in await self.registry.all():
            raise CollectionNotFoundError(
                f"The collection {self.collection.name!r} was deleted. Create it again first."
            )

    @asynccontextmanager
    async def using(self) -> AsyncGenerator[None]:
        """Give the failures of the engine below their meaning.

        Raises:
            CollectionNotFoundError: The collection was deleted meanwhile.
            StorageError: Anything else went wrong.
        """
        try:
            yield
        except KnowledgeError:
            raise
        except self.engine.failures as error:
            await self.check_exists()
            raise StorageError(
                f"The collection {self.collection.name!r} could not be read or written. Check "
                "where the knowledge store is kept: free space, permissions, and the log of the "
                "knowledge service."
            ) from error

    @asynccontextmanager
    async def writing(self, kind: str = "chunks") -> AsyncGenerator[None]:
        """Hold the write lock of a kind of table around one commit, and see it onto the disk.

        Raises:
            CollectionNotFoundError: The collection was deleted meanwhile.
            StorageError: The commit failed; the collection is as it was.
        """
        async with self.using(), self.engine.committing(f"{kind}_{self.collection.id}"):
            await self.check_exists()
            yield

    @asynccontextmanager
    async def indexing(self) -> AsyncGenerator[None]:
        """See indexes onto the disk that are made meanwhile. Others may commit.

        Raises:
            CollectionNotFoundError: The collection was deleted meanwhile.
            StorageError: It failed; the collection is as it was.
        """
        async with self.using(), self.engine.flushed(f"chunks_{self.collection.id}"):
            yield


async def tidy(
    handle: CollectionHandle, *, ann_rows: int, building: Snapshot | None, prune: bool
) -> Snapshot | None:
    """Put a table in order: merge its files, index its words and keys.

    An index of words that is of another language than the collection is made anew.

    One process does it at a time; the others have nothing left to do.

    Args:
        handle: The collection.
        ann_rows: From how many rows on an approximate vector index pays; below, an exact scan is
            faster and finds everything.
        building: The state whose vectors this service has indexed at the moment.
        prune: Whether to look for what earlier versions left, too.

    Returns:
        The state whose vectors are to be indexed, if any are.
    """
    compaction = handle.engine.locked_if_free(f"chunks_{handle.collection.id}.upkeep")
    async with handle.using(), compaction as mine:
        if not mine:
            return None
        await handle.check_exists()
        if not await handle.table.has_words_of(handle.collection.language):
            await handle.table.index_words(handle.collection.language)
        async with _vectors(handle) as free:
            if free or building is not None:  # else another service does, of who knows which state
                async with handle.writing():
                    await handle.table.tidy(building)
            if free and prune:  # an index is committed by comparing with all versions since
                await handle.table.prune()
        async with handle.indexing():
            await handle.table.index_rows()
        return await handle.table.vectors_due(ann_rows)


async def index_vectors(handle: CollectionHandle, snapshot: Snapshot) -> None:
    """Index the vectors of a table as of a state, unless somebody else is at it."""
    async with handle.using(), _vectors(handle) as free:
        if free:
            await handle.check_exists()
            async with handle.indexing():
                await handle.table.index_vectors(snapshot)


def _vectors(handle: CollectionHandle) -> AbstractAsyncContextManager[bool]:
    """Exclude others from indexing vectors."""
    return handle.engine.locked_if_free(f"chunks_{handle.collection.id}.vectors")
