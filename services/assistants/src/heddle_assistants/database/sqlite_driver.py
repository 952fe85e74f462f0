"""SQLite behind the interface of aiosqlite, which is the one that SQLAlchemy drives.

aiosqlite gives each connection a thread and sends every step there: a statement is four journeys,
and when the loop is busy each waits for the interpreter's lock, milliseconds at a time, which a
writer spends holding everybody's lock. A statement on a few pages takes less than one journey. So
here it runs on the loop's own thread, and only a commit, which waits for the disk, leaves it.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from typing import Any, Self


class SqliteCursor:
    """The part of `aiosqlite.Cursor` that SQLAlchemy uses."""

    __slots__ = ("_cursor",)

    def __init__(self, cursor: sqlite3.Cursor) -> None:
        self._cursor = cursor

    async def __aenter__(self) -> Self:
        return self

    async def execute(self, statement: str, parameters: Sequence[Any] = ()) -> None:
        """Run a statement."""
        self._cursor.execute(statement, parameters)

    async def executemany(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each row."""
        self._cursor.executemany(statement, rows)

    async def fetchall(self) -> list[Any]:
        """Return the rows that are left."""
        return self._cursor.fetchall()

    async def close(self) -> None:
        """Let go of the statement."""
        self._cursor.close()

    @property
    def description(self) -> object:
        """What the columns are called, if there are any."""
        return self._cursor.description

    @property
    def rowcount(self) -> int:
        """How many rows changed."""
        return self._cursor.rowcount

    @property
    def lastrowid(self) -> int | None:
        """The id of the row that was inserted last."""
        return self._cursor.lastrowid


class SqliteConnection:
    """The part of `aiosqlite.Connection` that SQLAlchemy uses; it looks for `_connection` too."""

    def __init__(self, connection: sqlite3.Connection, commits: Executor) -> None:
        self._connection = connection
        self._commits = commits

    def cursor(self) -> SqliteCursor:
        """Return a cursor."""
        return SqliteCursor(self._connection.cursor())

    async def commit(self) -> None:
        """Return when the transaction is on disk; even a cancelled call waits for that."""
        loop = asyncio.get_running_loop()
        commit = loop.run_in_executor(self._commits, self._connection.commit)
        try:
            await asyncio.shield(commit)
        except asyncio.CancelledError:
            # Nobody else may use the connection while it is at work on the other thread.
            await asyncio.wait([commit])
            raise

    async def rollback(self) -> None:
        """Take the transaction back."""
        self._connection.rollback()

    async def create_function(
        self, name: str, arguments: int, function: Callable[..., Any], **options: bool
    ) -> None:
        """Let SQL call `function`."""
        self._connection.create_function(name, arguments, function, **options)

    async def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def stop(self) -> None:
        """Close the connection, where nothing can be awaited."""
        self._connection.close()
