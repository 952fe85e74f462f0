"""Migrates a row to the newest format when it is used, in one transaction.

Nothing is locked while a row is converted. What is written is compared with what was read, so that
of any number of replicas one migrates a row, and an edit that comes between is never overwritten.
"""

import time
from dataclasses import dataclass
from typing import Any

from heddle_conversion import Conversion, convert_row, displayed_title, dump, newest
from heddle_runtime.storage.database.inserting import Insertion, insertion, upsert
from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.audit.log import AuditLog
from heddle_assistants.database.assistant_row import MigratedRow, Row
from heddle_assistants.database.schema import assistants, originals
from heddle_assistants.repository.journal import log_migration
from heddle_assistants.repository.saving import save


@dataclass(frozen=True, slots=True)
class Stored:
    """A row and its metadata in the newest format."""

    row: Row
    document: dict[str, Any]


class Migrations:
    """Migrates rows when they are used, unless that is switched off."""

    def __init__(self, audit: AuditLog, *, enabled: bool = True) -> None:
        self._audit = audit
        self._enabled = enabled

    async def settled(self, row: Row) -> Stored | None:
        """Return a row in the newest format, None if it changed since it was read.

        Raises:
            MalformedAssistantError: Its metadata cannot be read.
            NewerFormatError: Its metadata is of a newer format.
        """
        conversion = convert_row(row.id, row.metadata, row.legacy)
        if not conversion.changed or not self._enabled:
            return Stored(row, conversion.metadata)
        async with self._audit.writing() as (connection, changes):
            migrated = await migrate(connection, row, conversion)
            if migrated is not None:
                await save(connection, changes, "migrate", row, migrated)
        if migrated is None:
            return None
        log_migration(row, conversion, migrated.metadata)
        return Stored(migrated, conversion.metadata)


async def migrate(connection: AsyncConnection, row: Row, conversion: Conversion) -> Row | None:
    """Write the migrated row and return it; None if the row changed since it was read."""
    migrated = dump(conversion.metadata)
    query = (
        update(assistants)
        .where(
            assistants.c.id == row.id,
            assistants.c.revision == row.revision,
            assistants.c.metadata.is_not_distinct_from(row.metadata),
        )
        .values(
            metadata=migrated, title=displayed_title(conversion.metadata), revision=row.revision + 1
        )
    )
    if not (await connection.execute(query)).rowcount:
        return None
    await connection.execute(keeping(connection), [original(row, conversion, migrated)])
    return row._replace(metadata=migrated, revision=row.revision + 1)


async def keep_malformed(connection: AsyncConnection, row: Row) -> None:
    """Store malformed metadata as the original of a row that is about to be repaired.

    Only an operator who discards edits restores it: it differs from every repaired metadata.
    """
    conversion = Conversion({}, 1, newest(), ())
    await connection.execute(keeping(connection), [original(row, conversion, "")])


def original(row: MigratedRow, conversion: Conversion, migrated: str) -> dict[str, Any]:
    """Return the values for the table of originals, with the metadata before the migration."""
    return {
        "assistant_id": row.id,
        "metadata": row.metadata,
        "from_version": conversion.from_version,
        "to_version": conversion.to_version,
        "migrated": migrated,
        "created_at": int(time.time()),
    }


def keeping(connection: AsyncConnection) -> Insertion:
    """Return the statement that stores originals, and replaces earlier ones.

    An earlier original exists if an operator put the old document back by hand: the document that
    was in use last is the right one.
    """
    return upsert(insertion(connection, originals))
