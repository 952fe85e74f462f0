"""Where events wait until the audit log has them: a file, or the database of all replicas."""

import asyncio
import sqlite3
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from heddle.audit.v1 import audit_pb2 as pb

from heddle_knowledge import sqlite_files

if TYPE_CHECKING:  # loads the driver
    from heddle_knowledge.uploads.files_database import FilesDatabase

SCHEMA = """
CREATE TABLE IF NOT EXISTS recorder (id TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS events (number INTEGER PRIMARY KEY AUTOINCREMENT, event BLOB NOT NULL);
"""
_BATCH = 500
_ADD = "INSERT INTO audit_outbox (event) VALUES ($1)"
_ANY = "SELECT FROM audit_outbox LIMIT 1"
_RECORDER = "INSERT INTO audit_recorder (id) VALUES ($1) ON CONFLICT DO NOTHING"
_LOCK = "SELECT id FROM audit_recorder FOR UPDATE"
# The log expects numbers that rise. Those of an identity column are drawn before a transaction
# ends, so a smaller one may appear after a larger one was sent.
_NUMBER = """
WITH added AS (
  SELECT id, row_number() OVER (ORDER BY id) AS place FROM audit_outbox WHERE number IS NULL
), numbered AS (
  UPDATE audit_outbox e SET number = r.last_number + added.place
  FROM added, audit_recorder r WHERE e.id = added.id RETURNING e.number
)
UPDATE audit_recorder SET last_number = (SELECT max(number) FROM numbered)
WHERE EXISTS (SELECT FROM numbered)
"""
_SELECT = "SELECT number, event FROM audit_outbox WHERE number IS NOT NULL ORDER BY number LIMIT $1"
_FORGET = "DELETE FROM audit_outbox WHERE number <= $1"


class WaitingEvents(Protocol):
    """Stores events, and returns them in the order in which they are sent."""

    shared: bool
    """Whether replicas send each other's events."""

    async def add(self, event: bytes) -> None:
        """Store an event, on disk when this returns."""

    async def first(self) -> tuple[str, list[pb.RecordedEvent]]:
        """Return who records the first events, and them, with numbers that rise."""

    async def forget(self, number: int) -> None:
        """Delete the events up to a number, which the audit log has."""

    async def tidy(self) -> None:
        """Leave nothing of deleted events."""


class FileEvents:
    """Events in a file of SQLite, which one process uses."""

    shared = False

    def __init__(self, path: Path) -> None:
        """Take the file, which is created with the first event."""
        self._path = path

    async def add(self, event: bytes) -> None:
        """Store an event, on disk when this returns."""
        await asyncio.to_thread(self._write, "INSERT INTO events (event) VALUES (?)", event)

    async def first(self) -> tuple[str, list[pb.RecordedEvent]]:
        """Return who records the first events, and them, with numbers that rise."""
        return await asyncio.to_thread(self._first)

    async def forget(self, number: int) -> None:
        """Delete the events up to a number, which the audit log has."""
        await asyncio.to_thread(self._write, "DELETE FROM events WHERE number <= ?", number)

    async def tidy(self) -> None:
        """Leave nothing of deleted events."""
        if self._path.exists():
            await asyncio.to_thread(sqlite_files.vacuum, self._path)

    def _write(self, statement: str, parameter: bytes | int) -> None:
        with sqlite_files.writing(self._path, SCHEMA) as connection:
            connection.execute(statement, (parameter,))

    def _first(self) -> tuple[str, list[pb.RecordedEvent]]:
        if not self._path.exists():
            return "", []
        with sqlite_files.writing(self._path, SCHEMA) as connection:
            query = "SELECT number, event FROM events ORDER BY number LIMIT ?"
            rows = connection.execute(query, (_BATCH,)).fetchall()
            return _recorder(connection), [_recorded(*row) for row in rows]


class DatabaseEvents:
    """Events in PostgreSQL, which any replica sends, also those of one that is no more."""

    shared = True

    def __init__(self, database: "FilesDatabase") -> None:
        self._database = database

    async def add(self, event: bytes) -> None:
        """Store an event, on disk when this returns."""
        await self._database.fetch(_ADD, event)

    async def first(self) -> tuple[str, list[pb.RecordedEvent]]:
        """Return who records the first events, and them, with numbers that rise."""
        if not await self._database.fetch(_ANY):
            return "", []
        async with self._database.transaction() as connection:
            await connection.execute(_RECORDER, uuid.uuid4().hex)
            recorder = await connection.fetchval(_LOCK)
            await connection.execute(_NUMBER)
            rows = await connection.fetch(_SELECT, _BATCH)
        return recorder, [_recorded(row["number"], row["event"]) for row in rows]

    async def forget(self, number: int) -> None:
        """Delete the events up to a number, which the audit log has."""
        await self._database.fetch(_FORGET, number)

    async def tidy(self) -> None:
        """Do nothing: PostgreSQL removes deleted rows when it vacuums."""


def _recorded(number: int, event: bytes) -> pb.RecordedEvent:
    return pb.RecordedEvent(number=number, event=pb.AuditEvent.FromString(event))


def _recorder(connection: sqlite3.Connection) -> str:
    row = connection.execute("SELECT id FROM recorder").fetchone()
    if row is not None:
        return str(row[0])
    identifier = uuid.uuid4().hex
    connection.execute("INSERT INTO recorder VALUES (?)", (identifier,))
    return identifier
