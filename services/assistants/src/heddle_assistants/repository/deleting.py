"""Deletes assistants, and undoes deletions.

The row stays, under another owner and name. The version of the deletion has the former ones.
"""

import time
from collections.abc import Sequence
from typing import Any

from heddle_conversion.identifiers import DELETED_OWNER
from heddle_runtime.identity.callers import Identity
from heddle_runtime.identity.permissions import may_change
from sqlalchemy import ColumnElement, Table, Text, cast, literal, or_, select, update
from sqlalchemy import delete as delete_from
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.audit.log import AuditLog
from heddle_assistants.database import schema
from heddle_assistants.database.assistant_row import Row
from heddle_assistants.database.schema import assistant_versions, assistants
from heddle_assistants.repository.rows import locked_or_deleted
from heddle_assistants.repository.saving import row_of_snapshot, save
from heddle_assistants.repository.writer import (
    Columns,
    Writer,
    no_assistant,
    taken_names,
    written,
)

_DAY = 86_400
_SAME_COLUMNS = frozenset(
    {
        *("id", "organization_id", "name", "owner", "published", "revision"),
        *("created_at", "updated_at", "deleted_at"),
    }
)
_EMPTY: dict[str, Any] = {
    column.name: None if column.nullable else ""
    for column in assistants.c
    if column.name not in _SAME_COLUMNS
}
_OF_ASSISTANTS: tuple[Table, ...] = (
    schema.saved_questions,
    schema.originals,
    schema.assistant_versions,
    schema.assistant_users,
    schema.group_assistants,
    schema.question_days,
    schema.learner_questions,
    schema.usage_reservations,
)


async def delete(writer: Writer, identifier: str, identity: Identity, etag: str) -> None:
    """Delete an assistant; the owner can use its name again. Raises what `Writer.change` does."""
    now = int(time.time())

    def out_of_use(row: Row) -> Columns:
        # Two owners may delete assistants of one name in one second.
        name = f"{row.name}_{row.id}_deleted_{now}"
        return {"owner": DELETED_OWNER, "name": name, "deleted_at": now}

    await writer.change(identifier, identity, etag, out_of_use, action="delete")


class Deletions:
    """Undoes deletions."""

    def __init__(self, audit: AuditLog, days: int) -> None:
        """Set the number of days in which a deletion can be undone."""
        self._audit = audit
        self._seconds = days * _DAY

    async def undo(self, identifier: str, identity: Identity) -> Row:
        """Undo the deletion of an assistant; one that is not deleted stays as it is.

        Raises:
            AlreadyExistsError: The owner has another one of its name.
            NotFoundError: There is none that `identity` could change, or the time has passed.
        """
        async with self._audit.writing() as (connection, changes):
            row = await locked_or_deleted(connection, identifier)
            former = None if row is None else await self._former(connection, row)
            if row is None or former is None or not may_change(identity, former):
                raise no_assistant(identifier)
            columns = {"owner": former.owner, "name": former.name, "deleted_at": None}
            with taken_names(former.name):
                restored = await written(connection, row, columns)
            await save(connection, changes, "undelete", row, restored)
            return restored

    async def _former(self, connection: AsyncConnection, row: Row) -> Row | None:
        """Return a row as it was before its deletion; None if that is too long ago."""
        if not row.deleted:
            return row
        if row.deleted_at is None or row.deleted_at < time.time() - self._seconds:
            return None
        query = select(assistant_versions.c.document).where(
            assistant_versions.c.assistant_id == row.id,
            assistant_versions.c.number == row.revision,
        )
        document = await connection.scalar(query)
        return None if document is None else row_of_snapshot(row, document)


async def remove_contents(
    connection: AsyncConnection, numbers: Sequence[int], prefix: str, **columns: str | int
) -> None:
    """Remove the texts and users of assistants, and what other tables have of them.

    The rows stay, as usage and events refer to their numbers. Nothing brings the assistants back.

    Args:
        connection: The transaction to use.
        numbers: Of the assistants.
        prefix: Of their new names, before `_` and the number.
        columns: Further columns to set in all of them.
    """
    for table in _OF_ASSISTANTS:
        await connection.execute(delete_from(table).where(table.c.assistant_id.in_(numbers)))
    name = literal(f"{prefix}_") + cast(assistants.c.id, Text)
    query = update(assistants).where(assistants.c.id.in_(numbers))
    await connection.execute(query.values(_EMPTY | columns | {"name": name}))


def has_contents() -> ColumnElement[bool]:
    """Return the condition of assistants that still have contents."""
    columns = (assistants.c[name] for name in _EMPTY)
    return or_(*(each.is_not(None) if each.nullable else each != "" for each in columns))
