"""The files of all people in PostgreSQL, their bytes there or in an object store."""

import uuid
from datetime import UTC, datetime, timedelta

import asyncpg
from heddle.knowledge.v1 import files_pb2 as pb
from heddle_runtime.object_store import ObjectStore

from heddle_knowledge.uploads.files_database import FilesDatabase
from heddle_knowledge.uploads.folder import check_room, no_file, other_content
from heddle_knowledge.uploads.records import is_id

_FOLDER = "uploads/"
_WRITE_TIME = timedelta(hours=1)
"""An object without a row is left over from a crash if it is older."""
_SIZES = "SELECT count(*), coalesce(sum(size), 0) FROM uploads WHERE person = $1"
_INSERT = """
INSERT INTO uploads (person, id, record, size, content, object_key)
VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING RETURNING true
"""
_DELETE = "DELETE FROM uploads WHERE person = $1 AND id = $2 RETURNING object_key"


class DatabaseUploads:
    """Reads and writes the database. Blocks: call it from a thread. As `folder.Uploads`."""

    def __init__(self, database: FilesDatabase, objects: ObjectStore | None) -> None:
        """Take the database, and the object store for bytes; without: they are rows."""
        self._database = database
        self._objects = objects

    def keep(self, person: str, upload: pb.File, data: bytes) -> None:
        """Keep a file.

        Raises:
            AlreadyExistsError: Another replica has kept a file of this identifier with
                another content.
            ResourceExhaustedError: The person has too many, or too much.
        """
        key = self.put(person, upload.id, data)
        try:
            is_new = self._database.wait(self._insert(person, upload, data, key))
        except BaseException:
            self._drop(key)
            raise
        if not is_new:
            self._drop(key)
            self.repeated(person, upload.id, data)

    def get(self, person: str, identifier: str) -> pb.File:
        """Return a file of a person's.

        Raises:
            NotFoundError: There is none.
        """
        return pb.File.FromString(self._row("record", person, identifier)["record"])

    def repeated(self, person: str, identifier: str, data: bytes) -> pb.File | None:
        """Return a file of a person's that an upload repeats, None if it is new.

        Raises:
            AlreadyExistsError: The file has another content.
        """
        statement = "SELECT record, content, object_key FROM uploads WHERE person = $1 AND id = $2"
        rows = self._database.rows(statement, person, identifier)
        if not rows:
            return None
        if self._bytes(rows[0], identifier) != data:
            raise other_content()
        return pb.File.FromString(rows[0]["record"])

    def content(self, person: str, identifier: str) -> bytes:
        """Return what a file of a person's holds.

        Raises:
            NotFoundError: There is none.
        """
        return self._bytes(self._row("content, object_key", person, identifier), identifier)

    def all(self, person: str) -> list[pb.File]:
        """Return the files of a person."""
        rows = self._database.rows("SELECT record FROM uploads WHERE person = $1", person)
        return [pb.File.FromString(row["record"]) for row in rows]

    def keys(self) -> list[tuple[str, str]]:
        """Return the person and the identifier of every file."""
        rows = self._database.rows("SELECT person, id FROM uploads")
        return [(row["person"], row["id"]) for row in rows]

    def delete(self, person: str, identifier: str) -> None:
        """Delete a file of a person's.

        Raises:
            NotFoundError: There is none.
        """
        rows = self._database.rows(_DELETE, person, identifier)
        if not rows:
            raise no_file(identifier)
        self._drop(rows[0]["object_key"])

    def sweep(self, age: timedelta = _WRITE_TIME) -> None:
        """Remove the objects of uploads and deletions that a crash broke off, from an age on."""
        if self._objects is None:
            return
        latest = datetime.now(UTC) - age
        keys = [each.key for each in self._objects.all(_FOLDER) if each.modified < latest]
        used = self._database.rows(
            "SELECT object_key FROM uploads WHERE object_key = ANY($1)", keys
        )
        for key in set(keys) - {row["object_key"] for row in used}:
            self._objects.delete(key)

    async def _insert(self, person: str, upload: pb.File, data: bytes, key: str | None) -> bool:
        content = data if key is None else None
        async with self._database.transaction() as connection:
            # Replicas that keep files of one person at once would both find room.
            await connection.execute("SELECT pg_advisory_xact_lock(hashtext($1))", person)
            for files, size in await connection.fetch(_SIZES, person):
                check_room(files + 1, int(size) + upload.size)
            record = upload.SerializeToString()
            row = (person, upload.id, record, upload.size, content, key)
            return bool(await connection.fetchval(_INSERT, *row))

    def _row(self, columns: str, person: str, identifier: str) -> asyncpg.Record:
        if is_id(identifier):
            statement = f"SELECT {columns} FROM uploads WHERE person = $1 AND id = $2"  # noqa: S608 - columns are constants
            for row in self._database.rows(statement, person, identifier):
                return row
        raise no_file(identifier)

    def _bytes(self, row: asyncpg.Record, identifier: str) -> bytes:
        if row["object_key"] is None:
            return bytes(row["content"])
        data = self._objects.get(row["object_key"]) if self._objects else None
        if data is None:  # deleted meanwhile, or the object store is another one
            raise no_file(identifier)
        return data

    def put(self, person: str, identifier: str, data: bytes) -> str | None:
        """Store bytes as a new object, and return its key; None if they are stored as a row."""
        if self._objects is None:
            return None
        # Never the key of an earlier upload, whose bytes must not change.
        key = f"{_FOLDER}{person}/{identifier}-{uuid.uuid4().hex}"
        self._objects.put(key, data)
        return key

    def _drop(self, key: str | None) -> None:
        if key is not None and self._objects is not None:
            self._objects.delete(key)
