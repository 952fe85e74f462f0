"""SQLite's driver with one trip to the connection's thread for each statement.

SQLAlchemy's own adapter makes a cursor, executes, fetches and closes in a trip each, and a trip
costs more than most statements.
"""

import sqlite3
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, NamedTuple

import aiosqlite
from sqlalchemy.dialects.sqlite.aiosqlite import (
    AsyncAdapt_aiosqlite_connection,
    AsyncAdapt_aiosqlite_cursor,
    AsyncAdapt_aiosqlite_dbapi,
)

__all__ = ["DRIVER"]


class _Result(NamedTuple):
    description: Any
    rowcount: int
    lastrowid: int | None
    rows: Sequence[Any]


class _Cursor(AsyncAdapt_aiosqlite_cursor):
    """A cursor that holds all rows, and nothing of the database."""

    __slots__ = ("_result",)

    def __init__(self, connection: "_Connection") -> None:
        # Not that of the base, which asks the thread for a cursor.
        self._adapt_connection = connection
        self._connection = connection.driver_connection
        self._rows = deque()
        self._result = _Result(None, -1, None, ())

    @property
    def description(self) -> Any:  # noqa: ANN401 - as DB-API declares it
        """The columns of the result, None if it has none."""
        return self._result.description

    @property
    def rowcount(self) -> int:
        """The number of changed rows."""
        return self._result.rowcount

    @property
    def lastrowid(self) -> Any:  # noqa: ANN401 - as DB-API declares it
        """The number of the last inserted row."""
        return self._result.lastrowid

    def close(self) -> None:
        """Forget the rows."""
        self._rows.clear()

    async def _async_soft_close(self) -> None:
        """Do nothing: the rows do not need the database."""

    async def _execute_async(self, operation: Any, parameters: Any) -> None:  # noqa: ANN401 - as the base
        await self._run(sqlite3.Connection.execute, operation, parameters or ())

    async def _executemany_async(self, operation: Any, seq_of_parameters: Any) -> None:  # noqa: ANN401 - as the base
        await self._run(sqlite3.Connection.executemany, operation, seq_of_parameters)

    async def _run(self, method: Callable[..., sqlite3.Cursor], *arguments: object) -> None:
        connection: Any = self._connection
        run, raw = connection._execute, connection._conn  # noqa: SLF001 - it has no public name
        self._result = await run(_result, method, raw, *arguments)
        self._rows = deque(self._result.rows)


def _result(method: Callable[..., sqlite3.Cursor], *arguments: object) -> _Result:
    with closing(method(*arguments)) as cursor:
        rows = cursor.fetchall() if cursor.description else ()
        return _Result(cursor.description, cursor.rowcount, cursor.lastrowid, rows)


class _Connection(AsyncAdapt_aiosqlite_connection):
    __slots__ = ()
    _cursor_cls: Any = _Cursor


class _Driver(AsyncAdapt_aiosqlite_dbapi):
    def connect(self, *arguments: Any, **options: Any) -> AsyncAdapt_aiosqlite_connection:  # noqa: ANN401 - as the base
        """Open a connection."""
        return _Connection(self, super().connect(*arguments, **options).driver_connection)


DRIVER = _Driver(aiosqlite, sqlite3)
"""The module to create engines with."""
