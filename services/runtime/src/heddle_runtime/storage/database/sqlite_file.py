"""Creates the file of an SQLite database, and connects to it."""

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from heddle_runtime.storage.database.failures import UnusableDatabaseError, passes
from heddle_runtime.storage.private_files import make_private

TEXT = partial(str, encoding="utf-8", errors="replace")
"""Decodes texts: other programs may have written invalid UTF-8, which would raise an error."""
_PATIENCE = 10.0  # seconds for another process that prepares the same file


def connect(path: Path, pragmas: Mapping[str, object]) -> sqlite3.Connection:
    """Return a connection that begins transactions only when told to."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.text_factory = TEXT
    for name, value in pragmas.items():
        connection.execute(f"PRAGMA {name} = {value}")
    return connection


def prepare(path: Path) -> None:
    """Create the file if there is none. In its WAL mode, readers and the writer need not wait."""
    with _explained(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # It will hold people's data, so it is nobody else's to read.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        with closing(connect(path, {})) as connection:
            _set_wal(connection)
        for ending in ("", "-wal", "-shm"):
            make_private(path.with_name(path.name + ending))


def vacuum(path: Path) -> bool:
    """Rewrite a file and empty its log. Return whether no other connection was in the way."""
    with closing(connect(path, {"busy_timeout": 250})) as connection:
        try:
            connection.execute("VACUUM")
            was_busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.OperationalError as error:
            if not passes(error):
                raise
            return False
    return not was_busy


def _set_wal(connection: sqlite3.Connection) -> None:
    # SQLite does not always wait by itself when another process does the same.
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if not passes(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UnusableDatabaseError(f"Cannot use the database {path}: {reason}.") from error
