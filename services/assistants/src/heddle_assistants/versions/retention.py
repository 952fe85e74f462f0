"""Deletes old versions."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from heddle_runtime.storage.database.engine import Database
from sqlalchemy import ColumnElement, Row, and_, delete, func, or_, select, tuple_

from heddle_assistants.database.schema import assistant_versions as versions
from heddle_assistants.database.schema import assistants
from heddle_assistants.repository.deleting import has_contents, remove_contents

_DAY = 86_400
_BATCH = 500


@dataclass(frozen=True, slots=True)
class Retention:
    """The limits of stored versions. The newest of an existing assistant always stays."""

    count: int
    """The maximum number of versions of one assistant."""
    days: int
    """The number of days after which a version is deleted."""
    undelete_days: int
    """The number of days after which all versions of a deleted assistant are deleted."""


async def expire(database: Database, retention: Retention) -> None:
    """Delete versions beyond the limits, and contents of assistants that were deleted long ago."""
    while keys := await _expired(database, retention):
        await _delete(database, keys)
    await _empty(database, retention)


async def _expired(database: Database, retention: Retention) -> Sequence[Row[int, int]]:
    now = int(time.time())
    newest_first = func.row_number().over(
        partition_by=versions.c.assistant_id, order_by=versions.c.number.desc()
    )
    ranked = select(
        versions.c.assistant_id, versions.c.number, versions.c.saved_at, newest_first.label("rank")
    ).subquery()
    old: ColumnElement[bool] = ranked.c.saved_at < now - retention.days * _DAY
    query = (
        select(ranked.c.assistant_id, ranked.c.number)
        .join(assistants, assistants.c.id == ranked.c.assistant_id)
        .where(
            or_(
                ranked.c.rank > retention.count,
                and_(ranked.c.rank > 1, old),
                assistants.c.deleted_at < now - retention.undelete_days * _DAY,
            )
        )
        .limit(_BATCH)
    )
    # Reads what there is beside the writers, which wait for the deletion of a batch only.
    async with database.reading() as connection:
        return (await connection.execute(query)).all()


async def _empty(database: Database, retention: Retention) -> None:
    old = assistants.c.deleted_at < int(time.time()) - retention.undelete_days * _DAY
    ids = select(assistants.c.id).where(old, has_contents()).limit(_BATCH)
    while True:
        async with database.reading() as connection:
            numbers = [*await connection.scalars(ids)]
        if not numbers:
            return
        async with database.writing() as connection:
            await remove_contents(connection, numbers, "deleted")


async def _delete(database: Database, keys: Sequence[Row[int, int]]) -> None:
    query = tuple_(versions.c.assistant_id, versions.c.number).in_([tuple(each) for each in keys])
    async with database.writing() as connection:
        await connection.execute(delete(versions).where(query))
