"""SQLite files on a local disk that several processes read and write."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from heddle_runtime.storage.durable_files import sync
from heddle_runtime.storage.stored_files import StoredFiles

_WAIT_SECONDS = 30.0
_RETRY_SECONDS = 0.01


def rows(path: Path, query: str, *parameters: str | int | None) -> list[tuple[Any, ...]]:
    """Return the rows of a query; none if the file or its tables do not exist yet.

    Raises:
        sqlite3.Error: The file cannot be read.
    """
    try:
        with closing(_connect(path, "rw")) as database:
            return database.execute(query, parameters).fetchall()
    except sqlite3.OperationalError as error:
        # The plain code: another process has created the file, and not its tables yet.
        if path.exists() and error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
            raise
        return []


@contextmanager
def writing(path: Path, schema: str) -> Iterator[sqlite3.Connection]:
    """Yield a transaction that is on disk at the end of the block, or has not happened.

    Args:
        path: The file, which is created if it is missing.
        schema: Statements that create the tables that do not exist.

    Raises:
        sqlite3.Error: The file cannot be written.
        OSError: The folder cannot be created, or the file was removed or replaced during the block.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    with closing(_connect(path, "rwc")) as database:  # which undoes what is not committed
        _prepare(database, schema)
        if new:
            sync(path.parent)
        database.execute("PRAGMA synchronous = FULL")
        database.execute("BEGIN IMMEDIATE")
        files = StoredFiles(path, path.with_name(f"{path.name}-wal"))
        yield database
        files.check()
        database.execute("COMMIT")
        files.check()  # before the connection closes, which removes the log of SQLite


def _prepare(database: sqlite3.Connection, schema: str) -> None:
    """Create the tables. SQLite does not wait for others that change the mode of a new file."""
    end = time.monotonic() + _WAIT_SECONDS
    while True:
        try:
            database.execute("PRAGMA auto_vacuum = INCREMENTAL")
            database.execute("PRAGMA journal_mode = WAL")
            database.executescript(schema)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(_RETRY_SECONDS)
        else:
            return


def vacuum(path: Path) -> None:
    """Rewrite a file, if it exists, without deleted rows, and empty its log.

    Raises:
        sqlite3.Error: The file cannot be written, or is used all the time.
    """
    if not path.exists():
        return
    with closing(_connect(path, "rw")) as database:
        database.execute("VACUUM")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def remove(path: Path) -> None:
    """Delete a file, with those that SQLite has beside it."""
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    address = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(address, timeout=_WAIT_SECONDS, isolation_level=None, uri=True)
