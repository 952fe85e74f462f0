"""Uploaded files, files of collections and their batches, in a folder or in PostgreSQL."""

import asyncio
import base64
import shutil
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import msgspec
from heddle.knowledge.v1 import files_pb2 as pb
from heddle_runtime.errors import NotFoundError, StorageError
from heddle_runtime.object_store import ObjectStore

from heddle_knowledge.backup.items import Key, Row
from heddle_knowledge.engines.address import is_database
from heddle_knowledge.uploads.attachments import Attachments
from heddle_knowledge.uploads.database_uploads import DatabaseUploads
from heddle_knowledge.uploads.files_database import FilesDatabase
from heddle_knowledge.uploads.folder import Uploads
from heddle_knowledge.uploads.records import BATCH, Attachment, Batch

_UPLOADS = """
SELECT person, id, record, content, object_key FROM uploads
ORDER BY person COLLATE "C", id COLLATE "C"
"""
_ATTACHED = """
SELECT collection, id, record, attempts FROM attached_files
UNION ALL SELECT collection, id, record, 0 FROM file_batches
"""
_ADD_FILE = """
INSERT INTO attached_files (collection, id, state, created_at, attempts, record)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (collection, id) DO UPDATE
SET state = excluded.state, created_at = excluded.created_at, attempts = excluded.attempts,
  record = excluded.record
"""
_ADD_BATCH = """
INSERT INTO file_batches (collection, id, record) VALUES ($1, $2, $3)
ON CONFLICT (collection, id) DO UPDATE SET record = excluded.record
"""
_ADD_UPLOAD = """
INSERT INTO uploads (person, id, record, size, content, object_key)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (person, id) DO UPDATE
SET record = excluded.record, size = excluded.size, content = excluded.content,
  object_key = excluded.object_key
"""
_PART = 200


class FileRows(Protocol):
    """Reads and writes files."""

    def attached(self) -> AsyncIterator[dict[str, Any]]:
        """Yield the files and batches of all collections."""

    def uploads(self) -> AsyncIterator[dict[str, Any]]:
        """Yield the files of all people with their bytes."""

    async def add_attached(self, rows: AsyncIterable[Row]) -> None:
        """Write files and batches of collections in the place of those with their keys."""

    async def add_uploads(self, rows: AsyncIterable[Row]) -> None:
        """Write files of people in the place of those with their keys."""

    async def remove_attached(self, keys: Iterable[Key]) -> None:
        """Remove files and batches, if they are there."""

    async def remove_uploads(self, keys: Iterable[Key]) -> None:
        """Remove files of people, if they are there."""

    async def clear(self) -> None:
        """Remove all."""


@asynccontextmanager
async def open_file_rows(
    place: str, folder: Path, objects: ObjectStore | None
) -> AsyncGenerator[FileRows]:
    """Open what keeps the files; see `uploads.opening`."""
    if not is_database(place):
        yield FolderRows(folder)
        return
    database = FilesDatabase(place)
    try:
        yield DatabaseRows(database, objects)
    finally:
        await database.aclose()


class FolderRows:
    """Files in folders."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def attached(self) -> AsyncIterator[dict[str, Any]]:
        """Yield the files and batches of all collections."""
        attachments = Attachments(self._root)
        for path in sorted((self._root / "attached").glob("*/*.json")):
            if path.name.startswith("."):  # not complete yet
                continue
            collection, identifier = path.parent.name, path.stem
            try:
                data = path.read_bytes()
            except FileNotFoundError:  # detached meanwhile
                continue
            yield _attached(
                collection, identifier, data, attachments.attempts(collection, identifier)
            )

    async def uploads(self) -> AsyncIterator[dict[str, Any]]:
        """Yield the files of all people with their bytes."""
        uploads = Uploads(self._root)
        for person in sorted(path.name for path in (self._root / "people").glob("*")):
            for upload in sorted(uploads.all(person), key=lambda it: it.id):
                try:
                    content = uploads.content(person, upload.id)
                except NotFoundError:  # deleted meanwhile
                    continue
                yield _upload(person, upload, content)

    async def add_attached(self, rows: AsyncIterable[Row]) -> None:
        """Write files and batches of collections."""
        attachments = Attachments(self._root)
        async for row in rows:
            attachments.prepare(row["collection"])
            if row["id"].startswith(BATCH):
                attachments.keep_batch(msgspec.convert(row["record"], Batch))
                continue
            attachments.keep(msgspec.convert(row["record"], Attachment))
            if row["attempts"]:
                attachments.note_attempts(row["collection"], row["id"], row["attempts"])

    async def add_uploads(self, rows: AsyncIterable[Row]) -> None:
        """Write files of people."""
        uploads = Uploads(self._root)
        async for row in rows:
            await self.remove_uploads([(row["person"], row["id"])])
            uploads.put(row["person"], _file(row), base64.b64decode(row["content"]))

    async def remove_attached(self, keys: Iterable[Key]) -> None:
        """Remove files and batches, if they are there."""
        attachments = Attachments(self._root)
        for collection, identifier in keys:
            attachments.forget(collection, identifier)

    async def remove_uploads(self, keys: Iterable[Key]) -> None:
        """Remove files of people, if they are there."""
        uploads = Uploads(self._root)
        for person, identifier in keys:
            with suppress(NotFoundError):
                uploads.delete(person, identifier)
            # It may have been broken off while it was written.
            shutil.rmtree(self._root / "people" / person / f".{identifier}", ignore_errors=True)

    async def clear(self) -> None:
        """Remove all."""
        for name in ("attached", "people"):
            shutil.rmtree(self._root / name, ignore_errors=True)


class DatabaseRows:
    """Files in PostgreSQL, their bytes there or in an object store."""

    def __init__(self, database: FilesDatabase, objects: ObjectStore | None) -> None:
        self._database = database
        self._objects = objects

    async def attached(self) -> AsyncIterator[dict[str, Any]]:
        """Yield the files and batches of all collections."""
        query = f'SELECT * FROM ({_ATTACHED}) a ORDER BY collection COLLATE "C", id COLLATE "C"'  # noqa: S608 - a constant
        async with self._database.transaction() as connection:
            async for row in connection.cursor(query, prefetch=_PART):
                yield _attached(row["collection"], row["id"], row["record"], row["attempts"])

    async def uploads(self) -> AsyncIterator[dict[str, Any]]:
        """Yield the files of all people with their bytes."""
        async with self._database.transaction() as connection:
            async for row in connection.cursor(_UPLOADS, prefetch=1):
                content = row["content"]
                if row["object_key"] is not None:
                    content = await self._object(row["object_key"])
                if content is not None:
                    yield _upload(row["person"], pb.File.FromString(row["record"]), content)

    async def add_attached(self, rows: AsyncIterable[Row]) -> None:
        """Write files and batches of collections."""
        async with self._database.transaction() as connection:
            async for row in rows:
                place = row["collection"], row["id"]
                if row["id"].startswith(BATCH):
                    batch = msgspec.convert(row["record"], Batch)
                    await connection.execute(_ADD_BATCH, *place, msgspec.json.encode(batch))
                    continue
                attachment = msgspec.convert(row["record"], Attachment)
                columns = attachment.state, attachment.created_at, row["attempts"]
                record = msgspec.json.encode(attachment)
                await connection.execute(_ADD_FILE, *place, *columns, record)

    async def add_uploads(self, rows: AsyncIterable[Row]) -> None:
        """Write files of people. The objects of former ones are swept by the service."""
        uploads = DatabaseUploads(self._database, self._objects)
        async with self._database.transaction() as connection:
            async for row in rows:
                place, file = (row["person"], row["id"]), _file(row)
                content = base64.b64decode(row["content"])
                key = await asyncio.to_thread(uploads.put, *place, content)
                columns = file.SerializeToString(), file.size, content if key is None else None
                await connection.execute(_ADD_UPLOAD, *place, *columns, key)

    async def remove_attached(self, keys: Iterable[Key]) -> None:
        """Remove files and batches, if they are there."""
        for place in keys:
            for table in ("attached_files", "file_batches"):
                statement = f"DELETE FROM {table} WHERE collection = $1 AND id = $2"  # noqa: S608 - constants
                await self._database.fetch(statement, *place)

    async def remove_uploads(self, keys: Iterable[Key]) -> None:
        """Remove files of people, if they are there."""
        uploads = DatabaseUploads(self._database, self._objects)
        for person, identifier in keys:
            with suppress(NotFoundError):
                await asyncio.to_thread(uploads.delete, person, identifier)

    async def clear(self) -> None:
        """Remove all. Objects without a row are swept by the service."""
        for table in ("attached_files", "file_batches", "uploads"):
            await self._database.fetch(f"DELETE FROM {table}")  # noqa: S608 - constants

    async def _object(self, key: str) -> bytes | None:
        """Return the bytes of an object, None if its file was deleted meanwhile."""
        data = None
        if self._objects is not None:
            data = await asyncio.to_thread(self._objects.get, key)
        query = "SELECT FROM uploads WHERE object_key = $1"
        if data is None and await self._database.fetch(query, key):
            raise StorageError(
                "The bytes of an uploaded file are not in the object store. Check "
                "HEDDLE_OBJECTS_URL."
            )
        return data


def _attached(collection: str, identifier: str, data: bytes, attempts: int) -> dict[str, Any]:
    kind = Batch if identifier.startswith(BATCH) else Attachment
    record = msgspec.to_builtins(msgspec.json.decode(data, type=kind))
    return {"collection": collection, "id": identifier, "attempts": attempts, "record": record}


def _upload(person: str, upload: pb.File, content: bytes) -> dict[str, Any]:
    record = upload.SerializeToString(deterministic=True)
    return {"person": person, "id": upload.id, "record": record, "content": content}


def _file(row: Row) -> pb.File:
    return pb.File.FromString(base64.b64decode(row["record"]))
