"""Batches of assistants for the migration service: each method is one transaction.

A row is written only if its revision and its metadata are what the caller read.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from heddle_conversion import Conversion, displayed_title, parse
from heddle_runtime.contract.audit import Change
from heddle_runtime.database.engine import Database
from heddle_runtime.errors import NotSetUpError
from sqlalchemy import Row as Record
from sqlalchemy import Select, Text, bindparam, delete, func, select, type_coerce, update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.audit.batches import batch_change, ranges
from heddle_assistants.audit.log import AuditLog
from heddle_assistants.database.assistant_row import ROWS, BatchRow, Row, row_version
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


class Replacement(NamedTuple):
    """New metadata for a row, of the newest format."""

    id: int
    version: str
    text: str
    conversion: Conversion


_ROWS = select(
    *(assistants.c[name] for name in BatchRow._fields[:4]),
    type_coerce(assistants.c.rag_top_k, Text),
    assistants.c.rag_collections,
    assistants.c.revision,
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

    async def replace(self, replacements: Sequence[Replacement]) -> list[int]:
        """Write new metadata and store the originals; return the ids of the rows written.

        Raises:
            NotSetUpError: Migration is switched off.
        """
        self.require_migration()
        by_id = {each.id: each for each in replacements}
        locked = _ROWS.where(assistants.c.id.in_(by_id)).order_by(assistants.c.id)
        async with self._audit.writing() as (connection, changed):
            locked_rows = await connection.execute(locked.with_for_update(of=assistants))
            rows = [
                row
                for row in map(BatchRow._make, locked_rows)
                if row.version == by_id[row.id].version
            ]
            if rows:
                changes = [by_id[row.id] for row in rows]
                values = [
                    {
                        "row_id": change.id,
                        "new_metadata": change.text,
                        "new_title": displayed_title(change.conversion.metadata),
                    }
                    for change in changes
                ]
                await _write(connection, "migrate", values)
                stored = [
                    original(row, change.conversion, change.text)
                    for row, change in zip(rows, changes, strict=True)
                ]
                await connection.execute(keeping(connection), stored)
                texts = [change.text for change in changes]
                changed.append(_change("migrate", [row.id for row in rows], texts))
        await asyncio.to_thread(_log, rows, by_id)
        return [row.id for row in rows]

    async def restore(self, versions: Mapping[int, str]) -> list[int]:
        """Restore originals; return the ids of the rows written.

        Args:
            versions: The versions of the rows when they were read, by their ids.
        """
        columns = (assistants.c.id, assistants.c.revision, assistants.c.metadata)
        query = (
            select(*columns, originals.c.metadata)
            .join(originals, originals.c.assistant_id == assistants.c.id)
            .where(assistants.c.id.in_(versions))
            .order_by(assistants.c.id)
            .with_for_update(of=assistants)
        )
        async with self._audit.writing() as (connection, changed):
            restored = {
                number: text
                for number, revision, metadata, text in await connection.execute(query)
                if row_version(revision, metadata) == versions[number]
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
        return list(restored)


async def _write(
    connection: AsyncConnection, action: str, values: Sequence[Mapping[str, Any]]
) -> None:
    """Write the metadata of rows that are locked, and their versions."""
    texts = {each["row_id"]: each["new_metadata"] for each in values}
    records = await connection.execute(ROWS.where(assistants.c.id.in_(texts)))
    rows = [Row._make(each) for each in records]
    await connection.execute(_UPDATE, values)
    pairs = [(row, row._replace(metadata=texts[row.id], revision=row.revision + 1)) for row in rows]
    await save_batch(connection, action, pairs)


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


def _log(rows: Sequence[BatchRow], changes: Mapping[int, Replacement]) -> None:
    for row in rows:
        log_migration(row, changes[row.id].conversion, changes[row.id].text)
