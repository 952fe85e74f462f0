"""The store's directory: collections come into it, are opened, and go, whoever crashes when.

A collection exists when the catalogue has it. Its table is made before that and dropped after, so
a crash in between leaves at worst a table without a record, which the next opening drops.
"""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import lancedb
from lancedb.db import AsyncConnection

from heddle_tools_service.knowledge.catalogue import Catalogue
from heddle_tools_service.knowledge.errors import CollectionNotFoundError, StorageError
from heddle_tools_service.knowledge.locks import exclusive
from heddle_tools_service.knowledge.records import EMBEDDED, Collection
from heddle_tools_service.knowledge.shelf import Shelf
from heddle_tools_service.knowledge.tables import PREFIX, create_table

if TYPE_CHECKING:
    from lancedb.table import AsyncTable


@asynccontextmanager
async def open_shelves(root: Path) -> AsyncGenerator["Shelves"]:
    """Open the directory of a store, make it if it is missing, and sweep it.

    Raises:
        StorageError: It cannot be made or written.
    """
    locks = root / "locks"
    try:
        await asyncio.to_thread(locks.mkdir, parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            "The directory of the knowledge store cannot be made or written. Check its path and "
            "permissions."
        ) from error
    # Every read looks for commits of other processes first; that costs a third of a millisecond.
    # The URI is absolute, for LanceDB takes some relative ones for addresses of its cloud.
    database = await lancedb.connect_async(str(root), read_consistency_interval=timedelta(0))
    try:
        async with exclusive(locks / "store"):
            shelves = Shelves(root, database, await Catalogue.opened(database, root))
            await shelves.sweep()
        try:
            yield shelves
        finally:
            shelves.close()
    finally:
        database.close()  # type: ignore[no-untyped-call]  # no annotations there


class Shelves:
    """The open directory. Made by `open_shelves`."""

    def __init__(self, root: Path, database: AsyncConnection, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self._root = root
        self._locks = root / "locks"
        self._database = database
        self._tables: dict[str, AsyncTable] = {}

    async def add(self, collection: Collection) -> None:
        """Make room for a collection.

        Raises:
            CollectionExistsError: The name is taken.
        """
        async with exclusive(self._locks / "store"):
            taken = await self.catalogue.taken(collection)
            if collection.backend == EMBEDDED and not taken:
                table = await create_table(self._database, PREFIX + collection.id, collection.dim)
                self._tables[collection.id] = table
            await self.catalogue.add(collection)

    async def open(self, collection: Collection) -> Shelf:
        """Open an embedded collection.

        Raises:
            CollectionNotFoundError: It was deleted meanwhile.
        """
        name = PREFIX + collection.id
        if collection.id not in self._tables:
            known = (await self.catalogue.all()).keys()
            for gone in self._tables.keys() - known:  # deleted by another process
                del self._tables[gone]
            try:
                self._tables[collection.id] = await self._database.open_table(name)
            except (RuntimeError, ValueError, OSError) as error:
                raise CollectionNotFoundError(
                    f"The collection {collection.name!r} was just deleted. Create it again first."
                ) from error
        table = self._tables[collection.id]
        return Shelf(collection, table, self._root / f"{name}.lance", self._locks, self.catalogue)

    async def change(self, collection: Collection) -> None:
        """Keep a collection's record as it is now.

        Raises:
            CollectionNotFoundError: It was deleted meanwhile.
        """
        async with exclusive(self._locks / "store"):
            await self.catalogue.change(collection)

    async def remove(self, collection: Collection) -> None:
        """Delete a collection with all that it holds.

        Raises:
            CollectionNotFoundError: It was deleted meanwhile.
        """
        if collection.backend != EMBEDDED:
            async with exclusive(self._locks / "store"):
                await self.catalogue.remove(collection)
            return
        shelf = await self.open(collection)
        async with exclusive(shelf.write_lock), exclusive(self._locks / "store"):
            await shelf.check_exists()
            await self.catalogue.remove(collection)
            self._tables.pop(collection.id, None)
            await self._drop(PREFIX + collection.id)
            shelf.write_lock.unlink(missing_ok=True)
            shelf.upkeep_lock.unlink(missing_ok=True)

    async def sweep(self) -> None:
        """Drop tables and locks without a record. The store's lock must be held."""
        ids = (await self.catalogue.all()).keys()
        for lock in await asyncio.to_thread(os.listdir, self._locks):
            if lock.endswith((".write", ".upkeep")) and lock.partition(".")[0] not in ids:
                (self._locks / lock).unlink(missing_ok=True)
        kept = {PREFIX + id_ for id_ in ids}
        token: str | None = None
        while True:
            page = await self._database.list_tables(page_token=token)
            for name in page.tables:
                if name.startswith(PREFIX) and name not in kept:
                    await self._drop(name)
            token = page.page_token
            if not token:
                return

    def close(self) -> None:
        """Close every table."""
        for table in self._tables.values():
            table.close()  # type: ignore[no-untyped-call]  # no annotations there
        self._tables.clear()

    async def _drop(self, name: str) -> None:
        await self._database.drop_table(name, ignore_missing=True)
