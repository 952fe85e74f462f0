"""An open collection: its tables, the lock around its commits, the meaning of its failures."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from heddle_tools_service.knowledge.catalogue import Catalogue
from heddle_tools_service.knowledge.engines.interface import Engine, Layout, Table
from heddle_tools_service.knowledge.errors import (
    CollectionNotFoundError,
    KnowledgeError,
    StorageError,
)
from heddle_tools_service.knowledge.records import Collection


@dataclass(frozen=True, slots=True)
class Shelf:
    """What is needed to read and write one collection.

    Attributes:
        collection: Its record.
        table: The open table of its chunks.
        engine: What keeps the tables.
        catalogue: The list that says whether the collection still exists.
        beside: Opens a further table of the collection by its layout, and makes it at first use.
            It goes with the collection. A commit to it is one of its own.
    """

    collection: Collection
    table: Table
    engine: Engine
    catalogue: Catalogue
    beside: Callable[[Layout], Awaitable[Table]]

    async def check_exists(self) -> None:
        """Make sure that nobody has deleted the collection meanwhile.

        Raises:
            CollectionNotFoundError: Somebody has.
        """
        if self.collection.id not in await self.catalogue.all():
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
                "tools service."
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


async def tidy(shelf: Shelf, *, ann_rows: int) -> None:
    """Put a table in order: merge fragments, update indexes, drop old versions and leftovers.

    An index of words that is of another language than the collection is made anew.

    One process does it at a time; the others have nothing left to do.

    Args:
        shelf: The collection.
        ann_rows: From how many rows on an approximate vector index pays; below, an exact scan is
            faster and finds everything.
    """
    upkeep = shelf.engine.locked_if_free(f"chunks_{shelf.collection.id}.upkeep")
    async with shelf.using(), upkeep as mine:
        if not mine:
            return
        await shelf.check_exists()
        if not await shelf.table.has_words_of(shelf.collection.language):
            await shelf.table.index_words(shelf.collection.language)
        # Before that of vectors: it takes minutes, in which searches by words would read whatever
        # their index does not hold.
        async with shelf.writing():
            await shelf.table.tidy()
        await shelf.table.index_vectors(ann_rows)
