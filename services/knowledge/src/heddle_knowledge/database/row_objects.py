"""Bytes of rows as objects: stored before their row, and swept if it never came."""

import asyncio
import uuid
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from heddle_runtime.storage.durable_files import sync, write
from heddle_runtime.storage.object_store import ObjectStore, StoredObject
from sqlalchemy import Table, select

from heddle_knowledge.database.opening import KnowledgeDatabase

_WRITE_TIME = timedelta(hours=1)
"""An object without a row is left over from a crash if it is older."""


class FolderObjects:
    """Files, whose paths in a folder are the keys. All methods may raise `OSError`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, key: str, data: bytes) -> None:
        """Store an object, on disk when this returns."""
        path = self._folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, data)
        sync(path.parent.parent)

    def get(self, key: str) -> bytes | None:
        """Return an object, None if there is none."""
        try:
            return (self._folder / key).read_bytes()
        except FileNotFoundError:
            return None

    def delete(self, key: str) -> None:
        """Delete an object, if it is there."""
        (self._folder / key).unlink(missing_ok=True)

    def all(self, prefix: str) -> list[StoredObject]:
        """Return the objects whose keys begin with a prefix, and files that are not complete."""
        objects = []
        for path in (self._folder / prefix).rglob("*"):
            with suppress(FileNotFoundError):  # deleted meanwhile
                if path.is_file():
                    status = path.stat()
                    modified = datetime.fromtimestamp(status.st_mtime, UTC)
                    key = str(path.relative_to(self._folder))
                    objects.append(StoredObject(key, status.st_size, modified))
        return objects


class RowObjects:
    """The objects that have bytes of a table's rows, if there is a store of objects."""

    def __init__(
        self, database: KnowledgeDatabase, objects: ObjectStore | FolderObjects | None, table: Table
    ) -> None:
        """Take the store of objects, and the table whose column `object_key` names them."""
        self._database = database
        self._objects = objects
        self._keys = table.c.object_key
        self._prefix = f"{table.name}/"

    async def put(self, place: str, data: bytes) -> str | None:
        """Store bytes as a new object, and return its key; None if they belong in the row."""
        if self._objects is None:
            return None
        # Never the key of an earlier object, whose bytes must not change.
        key = f"{self._prefix}{place}-{uuid.uuid4().hex}"
        await asyncio.to_thread(self._objects.put, key, data)
        return key

    async def get(self, key: str) -> bytes | None:
        """Return an object; None if it was deleted, or is in another store."""
        return await asyncio.to_thread(self._objects.get, key) if self._objects else None

    async def delete(self, *keys: str | None) -> None:
        """Delete objects, as far as they are some."""
        for key in keys:
            if key is not None and self._objects is not None:
                await asyncio.to_thread(self._objects.delete, key)

    async def sweep(self, age: timedelta = _WRITE_TIME) -> None:
        """Delete objects that no row has, from an age on: what crashes left behind."""
        if self._objects is None:
            return
        latest = datetime.now(UTC) - age
        stored = await asyncio.to_thread(self._objects.all, self._prefix)
        if old := {each.key for each in stored if each.modified < latest}:
            async with self._database.reading() as connection:
                query = select(self._keys).where(self._keys.is_not(None))
                used = set(await connection.scalars(query))
            await self.delete(*(old - used))
