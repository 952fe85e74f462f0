"""An open collection: its table, the lock around its commits, the meaning of its failures."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from lancedb.index import HnswSq
from lancedb.table import AsyncTable

from heddle_tools_service.knowledge.catalogue import Catalogue
from heddle_tools_service.knowledge.durability import sync_since
from heddle_tools_service.knowledge.errors import (
    CollectionNotFoundError,
    KnowledgeError,
    StorageError,
)
from heddle_tools_service.knowledge.locks import exclusive, exclusive_if_free
from heddle_tools_service.knowledge.records import Collection

# Longer than any query runs, so that no reader of an older version loses its files.
_KEPT_VERSIONS = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Shelf:
    """What is needed to read and write one collection.

    Attributes:
        collection: Its record.
        table: Its open table; every read sees the latest commit of any process.
        folder: Where the table's files are.
        locks: Where lock files are.
        catalogue: The list that says whether the collection still exists.
    """

    collection: Collection
    table: AsyncTable
    folder: Path
    locks: Path
    catalogue: Catalogue

    @property
    def write_lock(self) -> Path:
        """The file whose lock is held around every commit."""
        return self.locks / f"{self.collection.id}.write"

    @property
    def upkeep_lock(self) -> Path:
        """The file whose lock makes one process the owner of the upkeep."""
        return self.locks / f"{self.collection.id}.upkeep"

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
        except (RuntimeError, ValueError, OSError) as error:
            await self.check_exists()
            raise StorageError(
                f"The collection {self.collection.name!r} could not be read or written. Check the "
                "store's directory: free space, permissions, and the log of the tools service."
            ) from error

    @asynccontextmanager
    async def writing(self) -> AsyncGenerator[None]:
        """Hold the write lock around one commit, and see it onto the disk.

        Raises:
            CollectionNotFoundError: The collection was deleted meanwhile.
            StorageError: The commit failed; the collection is as it was.
        """
        async with exclusive(self.write_lock), self.using():
            await self.check_exists()
            started = time.time_ns()
            yield
            await asyncio.to_thread(sync_since, self.folder, started)


async def tidy(shelf: Shelf, *, ann_rows: int) -> None:
    """Put a table in order: merge fragments, update indexes, drop old versions and leftovers.

    One process does it at a time; the others have nothing left to do.

    Args:
        shelf: The collection.
        ann_rows: From how many rows on an approximate vector index pays; below, an exact scan is
            faster and finds everything.
    """
    async with exclusive_if_free(shelf.upkeep_lock) as mine, shelf.using():
        if not mine:
            return
        await shelf.check_exists()
        # Takes minutes at 100,000 rows; commits go on meanwhile.
        if await shelf.table.count_rows() >= ann_rows and not await _has_vector_index(shelf.table):
            await shelf.table.create_index("vector", config=HnswSq(distance_type="cosine"))
        async with shelf.writing():
            # Leftovers of writers that died go when they are a week old: until then Lance cannot
            # tell them from the files of a commit under way.
            await shelf.table.optimize(cleanup_older_than=_KEPT_VERSIONS)


async def _has_vector_index(table: AsyncTable) -> bool:
    return any("vector" in index.columns for index in await table.list_indices())
