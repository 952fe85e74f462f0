"""Insertions that say what happens if the row exists already."""

from typing import Any

from sqlalchemy import Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

Insertion = postgresql.Insert | sqlite.Insert


def insertion(connection: AsyncConnection, table: Table) -> Insertion:
    """Return an insertion with the `ON CONFLICT` clause of the database's own language."""
    is_postgresql = connection.dialect.name == "postgresql"
    return postgresql.insert(table) if is_postgresql else sqlite.insert(table)


def upsert(query: Insertion, **changes: Any) -> Insertion:  # noqa: ANN401 - values and expressions of columns
    """Return an insertion that replaces the row of the same primary key.

    Args:
        query: The insertion, of all columns that have no default.
        changes: The new values of columns that are not those of the inserted row.
    """
    keys = [each.name for each in query.table.primary_key]
    new = {each.name: query.excluded[each.name] for each in query.table.c if each.name not in keys}
    return query.on_conflict_do_update(index_elements=keys, set_=new | changes)
