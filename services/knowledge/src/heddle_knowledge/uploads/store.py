"""The files of all people: rows, and their bytes in a folder, an object store, or the rows."""

import asyncio
import hashlib
import uuid
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from heddle.knowledge.v1 import files_pb2 as pb
from heddle_runtime.errors import AlreadyExistsError, NotFoundError, ResourceExhaustedError
from heddle_runtime.storage.database.inserting import insertion
from heddle_runtime.storage.durable_files import sync, write
from heddle_runtime.storage.object_store import ObjectStore, StoredObject
from sqlalchemy import Row, delete, func, select

from heddle_knowledge.collection.access import Person
from heddle_knowledge.database.opening import KnowledgeDatabase
from heddle_knowledge.database.schema import deleted_uploads, uploads
from heddle_knowledge.uploads.records import is_id

MAX_FILES = 5_000
MAX_BYTES = 5 * 1024**3
_PREFIX = "uploads/"
_WRITE_TIME = timedelta(hours=1)
"""An object without a row is left over from a crash if it is older."""
_FILES, _DELETED = uploads.c, deleted_uploads.c
_BYTES = _FILES.content, _FILES.object_key


def person_key(person: Person) -> str:
    """Return the key of a person; two of one name in two organisations differ."""
    return hashlib.sha256(f"{person.organization}\0{person.name}".encode()).hexdigest()[:32]


def check_room(files: int, size: int) -> None:
    """Refuse a person's files, the new one among them, if they are too many or too large."""
    if files > MAX_FILES or size > MAX_BYTES:
        raise ResourceExhaustedError(
            f"A person may keep {MAX_FILES:,} files and {MAX_BYTES >> 20:,} MiB in all. "
            "Delete files that are in their collections already."
        )


class FolderObjects:
    """Files, whose paths in a folder are the keys. All methods may raise `OSError`."""

    def __init__(self, folder: Path) -> None:
        """Take the folder, which is made when something is stored."""
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


class Uploads:
    """Reads and writes them."""

    def __init__(
        self, database: KnowledgeDatabase, objects: ObjectStore | FolderObjects | None
    ) -> None:
        """Take the database, and the store of bytes; without one, bytes are in the rows."""
        self._database = database
        self._objects = objects

    async def keep(self, person: str, upload: pb.File, data: bytes) -> None:
        """Store a file.

        Raises:
            AlreadyExistsError: Another replica has kept a file of this identifier with
                another content.
            ResourceExhaustedError: The person has too many, or too much.
        """
        key = await self.put(person, upload.id, data)
        try:
            is_new = await self._insert(person, upload, data, key)
        except BaseException:
            await self._drop(key)
            raise
        if not is_new:
            await self._drop(key)
            await self.repeated(person, upload.id, data)

    async def get(self, person: str, identifier: str) -> pb.File:
        """Return a file of a person's.

        Raises:
            NotFoundError: There is none.
        """
        return pb.File.FromString((await self._row(person, identifier, _FILES.record)).record)

    async def repeated(self, person: str, identifier: str, data: bytes) -> pb.File | None:
        """Return a file of a person's that an upload repeats, None if it is new.

        Raises:
            AlreadyExistsError: The file has another content.
        """
        try:
            row = await self._row(person, identifier, _FILES.record, *_BYTES)
        except NotFoundError:
            return None
        if await self._content(row, identifier) != data:
            raise AlreadyExistsError(
                "The key of this upload belongs to another content. Upload it with another key."
            )
        return pb.File.FromString(row.record)

    async def content(self, person: str, identifier: str) -> bytes:
        """Return the content of a person's file.

        Raises:
            NotFoundError: There is none.
        """
        return await self._content(await self._row(person, identifier, *_BYTES), identifier)

    async def all(self, person: str) -> list[pb.File]:
        """Return the files of a person."""
        query = select(_FILES.record).where(_FILES.person == person)
        async with self._database.reading() as connection:
            return [pb.File.FromString(each) for each in await connection.scalars(query)]

    async def keys(self) -> list[tuple[str, str]]:
        """Return the person and the identifier of every file."""
        async with self._database.reading() as connection:
            rows = await connection.execute(select(_FILES.person, _FILES.id))
            return [(row.person, row.id) for row in rows]

    async def mark_deleted(self, person: str, identifier: str) -> bool:
        """Hide a file of a person's from all callers; say whether this call has done so.

        Raises:
            NotFoundError: There is none.
        """
        of_file = _FILES.person == person, _FILES.id == identifier
        async with self._database.writing() as connection:
            deletion = delete(uploads).where(*of_file).returning(_FILES.object_key)
            if row := (await connection.execute(deletion)).first():
                mark = insertion(connection, deleted_uploads).values(
                    person=person, id=identifier, object_key=row.object_key
                )
                await connection.execute(mark.on_conflict_do_nothing())
                return True
        if (person, identifier) in await self.deleted():
            return False
        raise no_file(identifier)

    async def deleted(self) -> list[tuple[str, str]]:
        """Return the person and the identifier of the files that are marked as deleted."""
        async with self._database.reading() as connection:
            rows = await connection.execute(select(_DELETED.person, _DELETED.id))
            return [(row.person, row.id) for row in rows]

    async def delete(self, person: str, identifier: str) -> None:
        """Delete a file of a person's that is marked as deleted, with its mark."""
        of_file = _DELETED.person == person, _DELETED.id == identifier
        async with self._database.reading() as connection:
            keys = (await connection.scalars(select(_DELETED.object_key).where(*of_file))).all()
        for key in keys:
            await self._drop(key)
        async with self._database.writing() as connection:
            await connection.execute(delete(deleted_uploads).where(*of_file))

    async def sweep(self, age: timedelta = _WRITE_TIME) -> None:
        """Remove the bytes of uploads and deletions that a crash broke off, from an age on."""
        if self._objects is None:
            return
        latest = datetime.now(UTC) - age
        stored = await asyncio.to_thread(self._objects.all, _PREFIX)
        if old := {each.key for each in stored if each.modified < latest}:
            async with self._database.reading() as connection:
                query = select(_FILES.object_key).where(_FILES.object_key.is_not(None))
                used = set(await connection.scalars(query))
            for key in old - used:
                await self._drop(key)

    async def put(self, person: str, identifier: str, data: bytes) -> str | None:
        """Store bytes as a new object, and return its key; None if they belong in the row."""
        if self._objects is None:
            return None
        # Never the key of an earlier upload, whose bytes must not change.
        key = f"{_PREFIX}{person}/{identifier}-{uuid.uuid4().hex}"
        await asyncio.to_thread(self._objects.put, key, data)
        return key

    async def _insert(self, person: str, upload: pb.File, data: bytes, key: str | None) -> bool:
        async with self._database.writing() as connection:
            if self._database.shared:
                # Replicas that keep files of one person at once would both find room.
                lock = func.pg_advisory_xact_lock(func.hashtext(person))
                await connection.execute(select(lock))
            sizes = select(func.count(), func.coalesce(func.sum(_FILES.size), 0))
            row = (await connection.execute(sizes.where(_FILES.person == person))).one()
            check_room(row[0] + 1, int(row[1]) + upload.size)
            new = insertion(connection, uploads).values(
                person=person,
                id=upload.id,
                record=upload.SerializeToString(),
                size=upload.size,
                content=data if key is None else None,
                object_key=key,
            )
            added = new.on_conflict_do_nothing().returning(_FILES.id)
            return (await connection.execute(added)).first() is not None

    async def _row(self, person: str, identifier: str, *columns: Any) -> Row[Any]:  # noqa: ANN401 - of any type
        if is_id(identifier):
            of_file = _FILES.person == person, _FILES.id == identifier
            async with self._database.reading() as connection:
                row = (await connection.execute(select(*columns).where(*of_file))).first()
            if row is not None:
                return row
        raise no_file(identifier)

    async def _content(self, row: Row[Any], identifier: str) -> bytes:
        if row.object_key is None:
            return bytes(row.content)
        if (
            data := await self.object(row.object_key)
        ) is None:  # deleted meanwhile, or the object store is another one
            raise no_file(identifier)
        return data

    async def object(self, key: str) -> bytes | None:
        """Return bytes that are an object, None if there is none."""
        return await asyncio.to_thread(self._objects.get, key) if self._objects else None

    async def _drop(self, key: str | None) -> None:
        if key is not None and self._objects is not None:
            await asyncio.to_thread(self._objects.delete, key)


def no_file(identifier: str) -> NotFoundError:
    """Return the error for a file that is not there, or another person's."""
    return NotFoundError(
        f"There is no file {identifier[:80]!r}. List the files, or upload it first."
    )
