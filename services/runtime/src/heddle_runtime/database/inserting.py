"""Insertions that say what happens if the row exists already."""

from sqlalchemy import Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

Insertion = postgresql.Insert | sqlite.Insert


def insertion(connection: AsyncConnection, table: Table) -> Insertion:
    """Return an insertion with the `ON CONFLICT` clause of the database's own language."""
    is_postgresql = connection.dialect.name == "postgresql"
    return postgresql.insert(table) if is_postgresql else sqlite.insert(table)
