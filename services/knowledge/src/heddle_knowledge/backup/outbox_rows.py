"""Events for the audit log that the assistants service has not recorded yet."""

import base64
import uuid
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

from heddle_knowledge.audit_events import SCHEMA
from heddle_knowledge.backup.items import Row
from heddle_knowledge.engines.address import is_database
from heddle_knowledge.sqlite_files import remove, snapshot, writing
from heddle_knowledge.uploads.files_database import FilesDatabase

_RECORDERS = (
    "SELECT id, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0) FROM recorder"
)
_RECORDER = """
INSERT INTO audit_recorder (id) SELECT $1 WHERE EXISTS (SELECT FROM audit_outbox)
ON CONFLICT DO NOTHING
"""
_LAST = """
SELECT id, last_number + (SELECT count(*) FROM audit_outbox WHERE number IS NULL) AS last
FROM audit_recorder
"""
_EVENTS = """
SELECT coalesce(
  number, last_number + row_number() OVER (PARTITION BY number IS NULL ORDER BY e.id)
) AS number, event FROM audit_outbox e, audit_recorder ORDER BY 1
"""


async def rows(place: str, path: Path) -> AsyncIterator[dict[str, Any]]:
    """Yield who records, with the number of its last event, and the events.

    Args:
        place: Where the collections are; if that is PostgreSQL, the events are there, too.
        path: Of the file, otherwise.
    """
    if not is_database(place):
        for row in _file_rows(path):
            yield row
        return
    async with aclosing(FilesDatabase(place)) as database, aclosing(_rows_of(database)) as listed:
        async for row in listed:
            yield row


async def add(place: str, path: Path, incoming: AsyncIterable[Row]) -> None:
    """Store events as `rows` yields them. Their numbers are never used again."""
    if is_database(place):
        async with aclosing(FilesDatabase(place)) as database:
            await _add_to(database, incoming)
        return
    async for row in incoming:
        with writing(path, SCHEMA) as file:
            if "recorder" in row:
                file.execute("INSERT INTO recorder VALUES (?)", (row["recorder"],))
                file.execute("INSERT INTO sqlite_sequence VALUES ('events', ?)", (row["last"],))
            else:
                event = base64.b64decode(row["event"])
                file.execute("INSERT INTO events VALUES (?, ?)", (row["number"], event))


async def clear(place: str, path: Path) -> None:
    """Remove all events."""
    remove(path)
    if is_database(place):
        async with aclosing(FilesDatabase(place)) as database:
            await database.fetch("DELETE FROM audit_outbox")
            await database.fetch("DELETE FROM audit_recorder")


def _file_rows(path: Path) -> Iterator[dict[str, Any]]:
    with snapshot(path, "events") as file:
        if file is None:
            return
        for recorder, last in file.execute(_RECORDERS):
            yield {"recorder": recorder, "last": last}
        for number, event in file.execute("SELECT number, event FROM events ORDER BY number"):
            yield {"number": number, "event": event}


async def _rows_of(database: FilesDatabase) -> AsyncGenerator[dict[str, Any]]:
    await database.fetch(_RECORDER, uuid.uuid4().hex)
    async with database.transaction() as connection:
        await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        for row in await connection.fetch(_LAST):
            yield {"recorder": row["id"], "last": row["last"]}
        async for row in connection.cursor(_EVENTS):
            yield {"number": row["number"], "event": row["event"]}


async def _add_to(database: FilesDatabase, incoming: AsyncIterable[Row]) -> None:
    async for row in incoming:
        if "recorder" in row:
            statement = "INSERT INTO audit_recorder (id, last_number) VALUES ($1, $2)"
            await database.fetch(statement, row["recorder"], row["last"])
        else:
            statement = "INSERT INTO audit_outbox (number, event) VALUES ($1, $2)"
            await database.fetch(statement, row["number"], base64.b64decode(row["event"]))
