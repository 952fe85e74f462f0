"""Batches of assistants, each written in one transaction.

A row is written only if its revision and its metadata are what the caller read.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from itertools import starmap
from typing import Any, NamedTuple

from heddle_conversion import Conversion, displayed_title, parse
from heddle_runtime.contract.audit import Change
from heddle_runtime.errors import NotSetUpError
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import Row as Record
from sqlalchemy import Select, bindparam, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.audit.batches import batch_change, ranges
from heddle_assistants.audit.log import AuditLog
from heddle_assistants.database.assistant_row import ROWS, BatchRow, Row
from heddle_assistants.database.schema import assistants, originals
from heddle_assistants.repository.journal import log_migration
from heddle_assistants.repository.migrating import keeping, original
from heddle_assistants.repository.saving import save_batch

MAX_ROWS = 500
_MAX_CHARACTERS = 8_000_000
"""The size of the metadata in one batch; a batch has at least one row."""
_UPDATE = (
    update(assistants)
    .where(assistants.c.id == bindparam("row_id"))
    .values(
        metadata=bindparam("new_metadata"),
        title=bindparam("new_title"),
        revision=assistants.c.revision + 1,
    )
)


class RowChange(NamedTuple):
    """What shall become of one assistant."""

    row: BatchRow
    """The row that was read."""
    conversion: Conversion | None = None
    """None if it gets its original back."""
    text: str = ""
    """The converted metadata as they are stored."""
    notes: Sequence[str] = ()
    """What a person should look at."""


_ROWS = select(
    *(assistants.c[name] for name in BatchRow._fields[:7]),
    originals.c.to_version,
    assistants.c.metadata.is_distinct_from(originals.c.migrated),
    assistants.c.deleted_at,
).outerjoin(originals, originals.c.assistant_id == assistants.c.id)


class Batches:
    """Reads and writes many assistants at once."""

    def __init__(self, database: Database, audit: AuditLog, *, migrates: bool) -> None:
        self._database = database
        self._audit = audit
        self._migrates = migrates

    def require_migration(self) -> None:
        """Refuse to migrate while migration is switched off.

        Raises:
            NotSetUpError: It is.
        """
        if not self._migrates:
            raise NotSetUpError(
                "Migration is switched off. Set HEDDLE_ASSISTANTS_MIGRATE_ON_READ to 1 first."
            )

    async def count(self) -> int:
        """Return the number of assistants, deleted ones included."""
        async with self._database.reading() as connection:
            return await connection.scalar(select(func.count()).select_from(assistants)) or 0

    async def read(self, after: int, ids: Sequence[int]) -> list[BatchRow]:
        """Return the rows of `ids`, or if there are none, the batch after the id `after`."""
        async with self._database.reading() as connection:
            if not ids:
                sizes = await connection.execute(_sizes(after))
                ids = _fitting(sizes.all())
            query = _ROWS.where(assistants.c.id.in_(ids)).order_by(assistants.c.id)
            return [BatchRow._make(row) for row in await connection.execute(query)]

    async def write(self, changes: Sequence[RowChange]) -> set[int]:
        """Migrate or restore assistants; return the ids of the rows written.

        Args:
            changes: Either all are conversions, or none is.
        """
        if changes[0].conversion is None:
            return await self._restore({each.row.id: each.row for each in changes})
        return await self._replace({each.row.id: each for each in changes})

    async def _replace(self, changes: Mapping[int, RowChange]) -> set[int]:
        query = _ROWS.where(assistants.c.id.in_(changes)).order_by(assistants.c.id)
        async with self._audit.writing() as (connection, changed):
            records = await connection.execute(query.with_for_update(of=assistants))
            held = [
                changes[row.id]
                for row in map(BatchRow._make, records)
                if row.version == changes[row.id].row.version
            ]
            conversions = [
                (each.row, each.conversion, each.text) for each in held if each.conversion
            ]
            if held:
                values = [
                    {
                        "row_id": row.id,
                        "new_metadata": text,
                        "new_title": displayed_title(conversion.metadata),
                    }
                    for row, conversion, text in conversions
                ]
                await _write(connection, "migrate", values)
                await connection.execute(keeping(connection), list(starmap(original, conversions)))
                ids = [row.id for row, _, _ in conversions]
                changed.append(_change("migrate", ids, [each.text for each in held]))
        await asyncio.to_thread(_log, conversions)
        return {each.row.id for each in held}

    async def _restore(self, rows: Mapping[int, BatchRow]) -> set[int]:
        """Write the originals, byte for byte."""
        columns = (assistants.c.id, assistants.c.revision, assistants.c.metadata)
        query = (
            select(*columns, originals.c.metadata)
            .join(originals, originals.c.assistant_id == assistants.c.id)
            .where(assistants.c.id.in_(rows))
            .order_by(assistants.c.id)
            .with_for_update(of=assistants)
        )
        async with self._audit.writing() as (connection, changed):
            restored = {
                number: text
                for number, revision, metadata, text in await connection.execute(query)
                if (revision, metadata) == rows[number].version
            }
            if restored:
                values = [
                    {"row_id": number, "new_metadata": text, "new_title": _title(text)}
                    for number, text in restored.items()
                ]
                await _write(connection, "rollback", values)
                query_of_originals = originals.c.assistant_id.in_(restored)
                await connection.execute(delete(originals).where(query_of_originals))
                changed.append(_change("rollback", list(restored), list(restored.values())))
        return set(restored)


async def _write(
    connection: AsyncConnection, action: str, values: Sequence[Mapping[str, Any]]
) -> None:
    texts = {each["row_id"]: each["new_metadata"] for each in values}
    records = await connection.execute(ROWS.where(assistants.c.id.in_(texts)))
    rows = [Row._make(each) for each in records]
    await connection.execute(_UPDATE, values)
    after = [row._replace(metadata=texts[row.id], revision=row.revision + 1) for row in rows]
    await save_batch(connection, action, after)


def _change(verb: str, ids: Sequence[int], texts: Sequence[str | None]) -> Change:
    return batch_change(f"migration.{verb}", "assistants", len(ids), ranges(ids), list(texts))


def _sizes(after: int) -> Select[int, int]:
    size = func.coalesce(func.length(assistants.c.metadata), 0)
    query = select(assistants.c.id, size).where(assistants.c.id > after)
    return query.order_by(assistants.c.id).limit(MAX_ROWS)


def _fitting(sizes: Sequence[Record[int, int]]) -> list[int]:
    ids: list[int] = []
    room = _MAX_CHARACTERS
    for number, size in sizes:
        room -= size
        if ids and room < 0:
            break
        ids.append(number)
    return ids


def _title(text: str | None) -> str:
    # Most originals have none, and to parse one takes longer than to restore it.
    return displayed_title(parse(text)) if text and "title" in text else ""


def _log(conversions: Iterable[tuple[BatchRow, Conversion, str]]) -> None:
    for row, conversion, text in conversions:
        log_migration(row, conversion, text)
