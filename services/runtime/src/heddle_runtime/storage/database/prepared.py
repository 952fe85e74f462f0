"""Executes statements that are compiled once, several of them in one trip to SQLite.

SQLAlchemy builds a statement and looks it up in its cache each time, and each one is a trip to the
thread of SQLite's connection. In a transaction of every turn, that costs more than the database.
"""

import sqlite3
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Select, UpdateBase
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_runtime.storage.database.rows import row_query

Values = Mapping[str, Any]
Statement = Select[*tuple[Any, ...]] | UpdateBase
Call = tuple["Prepared", Values | Sequence[Values]]
"""A statement, and the values of its parameters; several for an insertion of several rows."""


@dataclass(frozen=True, slots=True)
class _Compiled:
    text: str
    parameters: Sequence[tuple[str, Any, Callable[[Any], Any] | None]]
    """The names of the parameters in their places, their own values, and what converts values."""
    row: Callable[[Iterable[Any]], Any] | None
    """Makes a row of the values of a query."""

    def bound(self, values: Values) -> list[Any]:
        """Return values in their places."""
        return [
            value if convert is None else convert(value)
            for name, own, convert in self.parameters
            for value in (values.get(name, own),)
        ]


@dataclass(frozen=True)
class Prepared:
    """A query, an insertion or an update. SQLAlchemy executes deletions, and notes them."""

    statement: Statement
    columns: Sequence[str] = ()
    """The columns that an insertion sets, whose names are those of its parameters."""
    _compiled: dict[str, _Compiled] = field(default_factory=dict)

    def compiled(self, dialect: Dialect) -> _Compiled:
        """Return it in the SQL of a driver."""
        if (known := self._compiled.get(dialect.name)) is None:
            known = self._compiled[dialect.name] = self._compile(dialect)
        return known

    def _compile(self, dialect: Dialect) -> _Compiled:
        compiled: Any = self.statement.compile(
            dialect=dialect, column_keys=list(self.columns) or None
        )
        own = compiled.params
        parameters = [
            (name, own.get(name), compiled.binds[name].type.dialect_impl(dialect))
            for name in compiled.positiontup
        ]
        row = None
        if isinstance(self.statement, Select):
            read = row_query(self.statement, dialect).row
            names = [each.name for each in self.statement.selected_columns]
            make: Any = namedtuple("Row", names)  # type: ignore[misc] # noqa: PYI024 - of a query
            row = lambda values: make(*read(values))  # noqa: E731 - needs both
        return _Compiled(
            compiled.string,
            [(name, value, type_.bind_processor(dialect)) for name, value, type_ in parameters],
            row,
        )


async def execute(connection: AsyncConnection, *calls: Call) -> list[list[Any]]:
    """Execute statements in their order; return the rows of each, none of those that change.

    Raises:
        IntegrityError: A constraint would be broken.
    """
    if connection.dialect.name == "sqlite":
        return await _in_one_trip(connection, calls)
    results: list[list[Any]] = []
    for prepared, values in calls:
        result = await connection.execute(prepared.statement, values)
        results.append(list(result.all()) if result.returns_rows else [])
    return results


async def _in_one_trip(connection: AsyncConnection, calls: Sequence[Call]) -> list[list[Any]]:
    statements = []
    for prepared, values in calls:
        compiled = prepared.compiled(connection.dialect)
        many = [values] if isinstance(values, Mapping) else values
        statements.append((compiled, [compiled.bound(each) for each in many]))
    driver: Any = (await connection.get_raw_connection()).driver_connection
    try:
        rows: list[list[Any]] = await driver._execute(_run, driver._conn, statements)  # noqa: SLF001 - as SQLAlchemy does
    except sqlite3.IntegrityError as error:
        raise IntegrityError(None, None, error) from error
    return rows


def _run(
    connection: sqlite3.Connection, statements: Sequence[tuple[_Compiled, list[list[Any]]]]
) -> list[list[Any]]:
    results: list[list[Any]] = []
    for compiled, many in statements:
        if compiled.row is None:
            connection.executemany(compiled.text, many)
            results.append([])
        else:
            results.append([*map(compiled.row, connection.execute(compiled.text, many[0]))])
    return results
