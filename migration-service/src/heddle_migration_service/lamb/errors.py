"""Why nothing can be imported."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from heddle_runtime.errors import NotSetUpError


class LambDatabaseError(NotSetUpError):
    """There is no LAMB database where the service looks for it, or it cannot be read."""


@contextmanager
def explained(path: Path, *others: type[OSError]) -> Iterator[None]:
    """Tell the operator which file could not be read, and why.

    Args:
        path: The file.
        others: What may go wrong with it besides SQLite's own failures.
    """
    kinds: tuple[type[Exception], ...] = (sqlite3.Error, *others)
    try:
        yield
    except kinds as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise LambDatabaseError(f"The LAMB database {path} cannot be read: {reason}.") from error
