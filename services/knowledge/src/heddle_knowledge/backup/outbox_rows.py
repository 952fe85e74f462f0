"""Events for the audit log that the assistants service has not recorded yet."""

import base64
from collections.abc import AsyncIterable, AsyncIterator
from pathlib import Path
from typing import Any

from heddle_knowledge.audit import SCHEMA
from heddle_knowledge.backup.items import Row
from heddle_knowledge.sqlite_files import remove, snapshot, writing

_RECORDERS = (
    "SELECT id, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0) FROM recorder"
)


async def rows(path: Path) -> AsyncIterator[dict[str, Any]]:
    """Yield who records, with the number of its last event, and the events."""
    with snapshot(path, "events") as database:
        if database is None:
            return
        for recorder, last in database.execute(_RECORDERS):
            yield {"recorder": recorder, "last": last}
        for number, event in database.execute("SELECT number, event FROM events ORDER BY number"):
            yield {"number": number, "event": event}


async def add(path: Path, incoming: AsyncIterable[Row]) -> None:
    """Store events as `rows` yields them. Their numbers are never used again."""
    async for row in incoming:
        with writing(path, SCHEMA) as database:
            if "recorder" in row:
                database.execute("INSERT INTO recorder VALUES (?)", (row["recorder"],))
                database.execute("INSERT INTO sqlite_sequence VALUES ('events', ?)", (row["last"],))
            else:
                event = base64.b64decode(row["event"])
                database.execute("INSERT INTO events VALUES (?, ?)", (row["number"], event))


def clear(path: Path) -> None:
    """Remove all events."""
    remove(path)
