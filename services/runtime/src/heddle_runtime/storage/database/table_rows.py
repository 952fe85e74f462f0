"""Exports and imports all rows, in one form for SQLite and PostgreSQL.

Rows come in the order of their primary keys, texts by their bytes, so that two databases hold the
same if they yield the same.
"""

import base64
from collections.abc import AsyncIterable, AsyncIterator, Mapping, Sequence
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
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_runtime.storage.database.columns import Untyped
from heddle_runtime.storage.database.identities import continue_after
from heddle_runtime.storage.database.schema import Schema

Row = Mapping[str, Any]
PART = 500
"""The number of rows that are read or written at once."""
_LAST_OF_POSTGRESQL = "SELECT pg_sequence_last_value(pg_get_serial_sequence(:name, 'id')::regclass)"
_LAST_OF_SQLITE = "SELECT seq FROM sqlite_sequence WHERE name = :name"


async def rows(connection: AsyncConnection, table: Table) -> AsyncIterator[dict[str, Any]]:
    """Yield the rows of a table, as JSON values and bytes."""
    clause = _plain(table)
    query = select(clause).order_by(*_order(connection, table, clause))
    result = await connection.stream(query.execution_options(yield_per=PART))
    async for row in result.mappings():
        yield dict(row)


async def add(connection: AsyncConnection, table: Table, incoming: AsyncIterable[Row]) -> list[str]:
    """Insert rows in the form of `rows`, bytes as base64. Return the refused ones, with reasons."""
    binary = [each.name for each in table.columns if isinstance(each.type, LargeBinary)]
    part: list[dict[str, Any]] = []
    refused: list[str] = []
    async for row in incoming:
        part.append(dict(row) | {name: _decoded(row[name]) for name in binary})
        if len(part) == PART:
            refused += await _insert(connection, table, part)
            part = []
    return refused + await _insert(connection, table, part)


async def _insert(
    connection: AsyncConnection, table: Table, part: Sequence[dict[str, Any]]
) -> list[str]:
    """Insert rows, halving those that fail until the refused ones are alone."""
    if not part:
        return []
    try:
        async with connection.begin_nested():
            await connection.execute(insert(_plain(table)), part)
    except OperationalError:  # of the server or the disk
        raise
    except (DBAPIError, OverflowError) as error:
        if isinstance(error, DBAPIError) and error.connection_invalidated:
            raise
        if len(part) == 1:
            key = "/".join(str(part[0][each.name]) for each in table.primary_key)
            cause = error.orig if isinstance(error, DBAPIError) else error
            return [f"{table.name} {key}: {str(cause).splitlines()[0]}"]
    else:
        return []
    middle = len(part) // 2
    first = await _insert(connection, table, part[:middle])
    return first + await _insert(connection, table, part[middle:])


async def last_ids(connection: AsyncConnection, schema: Schema) -> AsyncIterator[dict[str, Any]]:
    """Yield the last id of each table that never reuses ids, if it has given any."""
    statement = _LAST_OF_POSTGRESQL if _is_postgresql(connection) else _LAST_OF_SQLITE
    for table in schema.tables:
        if table.dialect_options["sqlite"]["autoincrement"]:
            last = await connection.scalar(text(statement), {"name": table.name})
            if last:
                yield {"table": str(table.name), "last": last}


async def continue_ids(
    connection: AsyncConnection, schema: Schema, incoming: AsyncIterable[Row]
) -> None:
    """Let ids of new rows continue after those that `last_ids` has yielded."""
    async for row in incoming:
        await continue_after(connection, schema.metadata.tables[row["table"]], row["last"])


async def revision(connection: AsyncConnection) -> str:
    """Return the revision of the tables."""
    return str(await connection.scalar(text("SELECT version_num FROM alembic_version")))


def _decoded(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def _plain(table: Table) -> TableClause:
    """Return the table with raw values, so that no engine converts them."""
    return table_clause(table.name, *(column(each.name, _type(each)) for each in table.columns))


def _type(of: Column[Any]) -> Any:  # noqa: ANN401 - of any value
    return Text() if isinstance(of.type, Untyped) else of.type


def _order(connection: AsyncConnection, table: Table, clause: TableClause) -> list[Any]:
    by_bytes = "C" if _is_postgresql(connection) else "BINARY"
    keys = [(clause.c[each.name], each.type) for each in table.primary_key]
    return [key.collate(by_bytes) if isinstance(kind, Text) else key for key, kind in keys]


def _is_postgresql(connection: AsyncConnection) -> bool:
    return connection.dialect.name == "postgresql"
