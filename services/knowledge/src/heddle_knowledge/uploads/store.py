"""The files of all people: rows, and their bytes in a folder, an object store, or the rows."""

import hashlib
from typing import Any

from heddle.knowledge.v1 import files_pb2 as pb
from heddle_runtime.errors import AlreadyExistsError, NotFoundError, ResourceExhaustedError
from heddle_runtime.storage.database.inserting import insertion
from heddle_runtime.storage.object_store import ObjectStore
from sqlalchemy import Row, delete, func, select

from heddle_knowledge.collection.access import Person
from heddle_knowledge.database.opening import KnowledgeDatabase
from heddle_knowledge.database.row_objects import FolderObjects, RowObjects
from heddle_knowledge.database.schema import deleted_uploads, uploads
from heddle_knowledge.uploads.records import is_id

MAX_FILES = 5_000
MAX_BYTES = 5 * 1024**3
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


class Uploads:
    """Reads and writes them."""

    def __init__(
        self, database: KnowledgeDatabase, objects: ObjectStore | FolderObjects | None
    ) -> None:
        """Take the database, and the store of bytes; without one, bytes are in the rows."""
        self._database = database
        self.objects = RowObjects(database, objects, uploads)

    async def keep(self, person: str, upload: pb.File, data: bytes) -> None:
        """Store a file.

        Raises:
            AlreadyExistsError: Another replica has kept a file of this identifier with
                another content.
            ResourceExhaustedError: The person has too many, or too much.
        """
        key = await self.objects.put(f"{person}/{upload.id}", data)
        try:
            is_new = await self._insert(person, upload, data, key)
        except BaseException:
            await self.objects.delete(key)
            raise
        if not is_new:
            await self.objects.delete(key)
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
        await self.objects.delete(*keys)
        async with self._database.writing() as connection:
            await connection.execute(delete(deleted_uploads).where(*of_file))

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
        if (data := await self.objects.get(row.object_key)) is None:
            raise no_file(identifier)
        return data


def no_file(identifier: str) -> NotFoundError:
    """Return the error for a file that is not there, or another person's."""
    return NotFoundError(
        f"There is no file {identifier[:80]!r}. List the files, or upload it first."
    )
