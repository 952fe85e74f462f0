"""An open collection: its tables, the lock around its commits, the meaning of its failures."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from heddle_knowledge.collection.registry import CollectionRegistry
from heddle_knowledge.collection.types import Collection
from heddle_knowledge.engines.interface import Engine, Table
from heddle_knowledge.errors import (
    CollectionNotFoundError,
    KnowledgeError,
    StorageError,
)


@dataclass(frozen=True, slots=True)
class CollectionHandle:
    """Everything that is needed to read and write one collection.

    Attributes:
        collection: Its record.
        table: The open table of its chunks.
        engine: What keeps the tables.
        registry: The list that says whether the collection still exists.
    """

    collection: Collection
    table: Table
    engine: Engine
    registry: CollectionRegistry

    async def check_exists(self) -> None:
        """Check that the collection was not deleted meanwhile.

        Raises:
            CollectionNotFoundError: It was deleted.
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
    async def writing(self) -> AsyncGenerator[None]:
        """Hold the write lock of the table around one commit, which is on disk afterwards.

        Raises:
            CollectionNotFoundError: The collection was deleted meanwhile.
            StorageError: The commit failed; the collection is as it was.
        """
        async with self.using(), self.engine.locks.committing(f"chunks_{self.collection.id}"):
            await self.check_exists()
            yield
