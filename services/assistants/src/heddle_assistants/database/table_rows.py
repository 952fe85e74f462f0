"""All rows of the database, in a form that is the same on SQLite and on PostgreSQL.

Rows come in the order of their primary keys, texts by their bytes, so that two databases hold the
same if they yield the same.
"""

import base64
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from typing import Any

from sqlalchemy import (
    Column,
    LargeBinary,
    Table,
    TableClause,
    Text,
    column,
    insert,
    select,
    text,
)
from sqlalchemy import table as table_clause
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.database.columns import Untyped
from heddle_assistants.database.identities import continue_after
from heddle_assistants.database.schema import metadata, schema_compatibility

TABLES = tuple(table for table in metadata.sorted_tables if table is not schema_compatibility)
"""All but the one that describes them. A table comes after those that it refers to."""
Row = Mapping[str, Any]
_PART = 500
_LAST_OF_POSTGRESQL = "SELECT pg_sequence_last_value(pg_get_serial_sequence(:name, 'id')::regclass)"
_LAST_OF_SQLITE = "SELECT seq FROM sqlite_sequence WHERE name = :name"


async def rows(connection: AsyncConnection, table: Table) -> AsyncIterator[dict[str, Any]]:
    """Yield the rows of a table. Values are what JSON has, and bytes."""
    clause = _plain(table)
    query = select(clause).order_by(*_order(connection, table, clause))
    result = await connection.stream(query.execution_options(yield_per=_PART))
    async for row in result.mappings():
        yield dict(row)


async def add(connection: AsyncConnection, table: Table, incoming: AsyncIterable[Row]) -> None:
    """Insert rows as `rows` yields them, bytes as base64."""
    binary = [each.name for each in table.columns if isinstance(each.type, LargeBinary)]
    statement = insert(_plain(table))
    part: list[dict[str, Any]] = []
    async for row in incoming:
        part.append(dict(row) | {name: base64.b64decode(row[name]) for name in binary})
        if len(part) == _PART:
            await connection.execute(statement, part)
            part = []
    if part:
        await connection.execute(statement, part)


async def last_ids(connection: AsyncConnection) -> AsyncIterator[dict[str, Any]]:
    """Yield the last id of each table whose ids are never given again, as far as one was given."""
    statement = _LAST_OF_POSTGRESQL if _is_postgresql(connection) else _LAST_OF_SQLITE
    for table in TABLES:
        if table.dialect_options["sqlite"]["autoincrement"]:
            last = await connection.scalar(text(statement), {"name": table.name})
            if last:
                yield {"table": str(table.name), "last": last}


async def continue_ids(connection: AsyncConnection, incoming: AsyncIterable[Row]) -> None:
    """Give new rows ids after those that `last_ids` has yielded."""
    async for row in incoming:
        await continue_after(connection, metadata.tables[row["table"]], row["last"])


async def revision(connection: AsyncConnection) -> str:
    """Return the revision that the tables are at."""
    return str(await connection.scalar(text("SELECT version_num FROM alembic_version")))


def _plain(table: Table) -> TableClause:
    """Return the table without conversions of values that one engine would not need."""
    return table_clause(table.name, *(column(each.name, _type(each)) for each in table.columns))


def _type(of: Column[Any]) -> Any:  # noqa: ANN401 - of any value
    return Text() if isinstance(of.type, Untyped) else of.type


def _order(connection: AsyncConnection, table: Table, clause: TableClause) -> list[Any]:
    by_bytes = "C" if _is_postgresql(connection) else "BINARY"
    keys = [(clause.c[each.name], each.type) for each in table.primary_key]
    return [key.collate(by_bytes) if isinstance(kind, Text) else key for key, kind in keys]


def _is_postgresql(connection: AsyncConnection) -> bool:
    return connection.dialect.name == "postgresql"
