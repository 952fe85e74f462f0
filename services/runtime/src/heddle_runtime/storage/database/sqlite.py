"""A database in an SQLite file: any number of readers beside one writer."""

import asyncio
import random
import sqlite3
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Select, event
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from heddle_runtime.storage.database.failures import busy, passes, translated_errors
from heddle_runtime.storage.database.rows import ReadRow, Row, row_query
from heddle_runtime.storage.database.semaphore import FairSemaphore
from heddle_runtime.storage.database.sqlite_driver import DRIVER
from heddle_runtime.storage.database.sqlite_file import TEXT, connect, prepare, vacuum
from heddle_runtime.storage.failures import check_space
from heddle_runtime.storage.stored_files import StoredFiles

ONLY_NUMBERS = "only_numbers"
"""The execution option of a deletion of rows that have no content to be removed from the file."""
_READERS = 16
_CLEAN_UP_SECONDS = 2.0
_VACUUM_SECONDS = 30.0  # for readers and other processes that are in the way
# Writes the first page of the file, also if the number is the same.
_PROBE = "PRAGMA user_version = 1"
_LONGEST_PAUSE = 0.005  # seconds between two tries at a lock that another process holds
# In WAL mode readers wait for nobody, but for a process that opens or closes the file as the first
# or the last one. It holds the loop's thread, so it is short.
_READER = {"query_only": 1, "busy_timeout": 250}
_WRITER = {
    "foreign_keys": 1,
    # What was acknowledged is on disk, and outlives a power cut as well as a kill.
    "synchronous": "FULL",
    "busy_timeout": 0,
}


class SqliteDatabase:
    """A database in a file, which several processes may have open."""

    def __init__(
        self,
        name: str,
        readers: AsyncEngine,
        writer: AsyncEngine,
        rows: sqlite3.Connection,
        patience: float,
        files: StoredFiles,
    ) -> None:
        self.name = name
        self._files = files
        self._readers = readers
        self._reading = FairSemaphore(_READERS, patience)
        self._writer = writer
        self._writing = FairSemaphore(1, patience)
        self._rows = rows
        self._patience = patience
        self._has_deleted = True  # maybe before a crash
        event.listen(writer.sync_engine, "before_cursor_execute", self._note_deletion)

    @asynccontextmanager
    async def reading(self) -> AsyncGenerator[AsyncConnection]:
        """Yield a connection that sees one state of the database, and cannot change it."""
        with translated_errors(self.name):
            async with self._reading, self._readers.connect() as connection:
                await connection.exec_driver_sql("BEGIN")
                yield connection

    @asynccontextmanager
    async def writing(self) -> AsyncGenerator[AsyncConnection]:
        """Yield the only writing connection, whose changes are on disk when the block is left."""
        with translated_errors(self.name):
            async with self._writing, self._writer.begin() as connection:
                await _begin_immediate(connection, self._patience)
                yield connection
                self._files.check()  # what fails here has changed nothing
            self._files.check()  # the file may have disappeared during the commit

    async def check(self) -> None:
        """Check that the database can be read and written.

        Raises:
            HeddleError: It cannot.
        """
        with translated_errors(self.name):
            self._files.check()
        await asyncio.to_thread(check_space, Path(self.name).parent)
        async with self.writing() as connection:
            await connection.exec_driver_sql(_PROBE)

    async def clean_up(self) -> None:
        """Rewrite the file if rows were deleted since the last time; give up after a short time."""
        if self._has_deleted:
            await self.forget_deleted(_CLEAN_UP_SECONDS)

    async def forget_deleted(self, seconds: float = _VACUUM_SECONDS) -> None:
        """Rewrite the file without deleted rows, and empty its log."""
        with translated_errors(self.name):
            async with self._writing:
                until = time.monotonic() + seconds
                while not await asyncio.to_thread(vacuum, Path(self.name)):
                    if time.monotonic() > until:
                        raise busy()
                    await asyncio.sleep(_LONGEST_PAUSE)
                self._has_deleted = False

    def _note_deletion(self, *statement: Any) -> None:  # noqa: ANN401 - as SQLAlchemy calls it
        _, _, text, _, context, _ = statement
        if text.startswith("DELETE") and not context.execution_options.get(ONLY_NUMBERS):
            self._has_deleted = True

    def row_reader(self, query: Select[*tuple[Any, ...]]) -> ReadRow:
        """Return a function that reads one row."""
        compiled = row_query(query, self._readers.dialect)

        async def read(*values: object) -> Row | None:
            with translated_errors(self.name):
                # All rows, though it is one: a statement that is not at its end keeps its snapshot.
                rows = self._rows.execute(compiled.text, values).fetchall()
            return compiled.row(rows[0]) if rows else None

        return read


@asynccontextmanager
async def open_sqlite(path: Path, patience: float = 10) -> AsyncGenerator[SqliteDatabase]:
    """Open a file, or create it. Waiting for a connection takes at most `patience` seconds."""
    await asyncio.to_thread(prepare, path)
    rows = connect(path, _READER)
    try:
        # A connection that has read keeps the log of SQLite in place, which a commit writes to.
        rows.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        files = StoredFiles(path, path.with_name(f"{path.name}-wal"))
        readers = _engine(path, _READERS, _READER, files)
        writer = _engine(path, 1, _WRITER, files)
        try:
            yield SqliteDatabase(str(path), readers, writer, rows, patience, files)
        finally:
            await readers.dispose()
            await writer.dispose()
    finally:
        rows.close()


def _engine(
    path: Path, size: int, pragmas: Mapping[str, object], files: StoredFiles
) -> AsyncEngine:
    # Not created again where it was removed: an empty file would take its place.
    query = {"mode": "rw", "uri": "true"}
    engine = create_async_engine(
        URL.create("sqlite+aiosqlite", database=path.absolute().as_uri(), query=query),
        connect_args={"isolation_level": None},  # no transaction of the driver's own accord
        pool_size=size,
        max_overflow=0,
        module=DRIVER,
        pool_reset_on_return=None,  # both ways in end their transaction themselves
    )

    @event.listens_for(engine.sync_engine, "connect")
    def _set_pragmas(connection: Any, _: object) -> None:  # noqa: ANN401 - the adapted driver's
        files.check()  # a connection to another file would outlive the return of the right one
        connection.driver_connection.text_factory = TEXT
        for name, value in pragmas.items():
            connection.execute(f"PRAGMA {name} = {value}")

    return engine


async def _begin_immediate(connection: AsyncConnection, patience: float) -> None:
    # Not a plain BEGIN: whoever read first cannot wait for another writer any more, and fails.
    # Not SQLite's own waiting: it holds the thread, and looks ever more seldom whether the lock is
    # free, so that it can miss every gap between the transactions of a busy process.
    until = time.monotonic() + patience
    while True:
        try:
            await connection.exec_driver_sql("BEGIN IMMEDIATE")
        except OperationalError as error:
            if not passes(error.orig):
                raise
            if time.monotonic() > until:
                raise busy() from error
            await asyncio.sleep(random.uniform(0, _LONGEST_PAUSE))  # noqa: S311 - no secret
        else:
            return
