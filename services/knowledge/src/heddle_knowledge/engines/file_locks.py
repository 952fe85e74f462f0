"""Locks between the processes that use LanceDB in a folder: locked files."""

import asyncio
import os
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from pathlib import Path

from heddle_knowledge.engines.locks import Locks
from heddle_knowledge.files.durability import Flushes
from heddle_knowledge.files.locks import exclusive, exclusive_if_free

_ID = 32


class TableFileLocks(Locks):
    """Locks between the processes of one machine. What is committed is flushed."""

    excludes_all = True

    def __init__(self, folder: Path, files: Path) -> None:
        """Prepare.

        Args:
            folder: Of the tables.
            files: The folder of the files that are locked.
        """
        super().__init__()
        self._folder = folder
        self._files = files
        self._flushes: dict[str, Flushes] = {}

    @asynccontextmanager
    async def locked(self, name: str) -> AsyncGenerator[None]:
        """Exclude all others that lock the name; wait for them."""
        async with exclusive(self._files / name):
            yield

    @asynccontextmanager
    async def locked_if_free(self, name: str) -> AsyncGenerator[bool]:
        """Exclude all others that lock the name, if nobody does so already; say whether."""
        async with exclusive_if_free(self._files / name) as mine:
            yield mine

    @asynccontextmanager
    async def committing(self, table: str) -> AsyncGenerator[None]:
        """Exclude all others that commit to a table, and flush what is committed."""
        async with super().committing(table):
            flushes = self._flushes.get(table) or Flushes(self._folder / f"{table}.lance")
            self._flushes[table] = flushes
            yield
            await asyncio.to_thread(flushes.flush)

    async def forget(self, ids: Collection[str]) -> None:
        """Remove the files of the locks of all but these collections."""
        for lock in await asyncio.to_thread(os.listdir, self._files):
            table = lock.partition(".")[0]
            id_ = table.rpartition("_")[2]
            if len(id_) == _ID and id_ not in ids:
                (self._files / lock).unlink(missing_ok=True)
                self._flushes.pop(table, None)
