"""Converts failures of databases to errors for callers and operators."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg
from sqlalchemy.exc import DBAPIError

from heddle_runtime.errors import InvalidRequestError, UnavailableError
from heddle_runtime.storage.failures import storage_error, storage_problem
from heddle_runtime.storage.stored_files import LostFileError

# SQLSTATE codes and classes. What passes: conflicts between transactions, time-outs of statements
# and locks, a server that lacks resources.
_PASSING = ("40", "53", "55P03", "57014")
# What ends a connection: a server that stops or starts, one that waited too long for us.
_LOST = ("08", "57P", "25P03")
# A text with the character NUL, which PostgreSQL neither keeps nor compares.
_UNREPRESENTABLE = "22021"
_DISK_FULL = "53100"
_LOCKED = ("SQLITE_BUSY", "SQLITE_LOCKED")
_RETRY_AFTER = 1.0


class UnusableDatabaseError(OSError):
    """The service cannot start with this database. The message is for the operator."""


def busy() -> UnavailableError:
    """Return the error of a caller who waited too long for the database."""
    return UnavailableError("The database is busy. Try again.", retry_after=_RETRY_AFTER)


def unreachable() -> UnavailableError:
    """Return the error of a caller whose database does not answer."""
    message = "The database cannot be reached. Try again later."
    return UnavailableError(message, retry_after=_RETRY_AFTER)


@contextmanager
def translated_errors(name: str) -> Iterator[None]:
    """Convert temporary failures of the database `name`, and those of its disk.

    Other failures are raised as they are.
    """
    try:
        yield
    except (LostFileError, sqlite3.OperationalError, asyncpg.PostgresError, DBAPIError) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        if problem := storage_problem(cause, name):
            raise problem from error
        if _state(cause) == _DISK_FULL:
            diagnosis = f"The disk of the server of {name} is full. Free space on it."
            raise storage_error(diagnosis) from error
        invalidated = isinstance(error, DBAPIError) and error.connection_invalidated
        if invalidated or _state(cause).startswith(_LOST):
            raise unreachable() from error
        if passes(cause):
            raise busy() from error
        if _state(cause) == _UNREPRESENTABLE:
            message = "A text of the request holds the character NUL. Leave it out."
            raise InvalidRequestError(message) from None
        raise


def passes(error: BaseException | None) -> bool:
    """Return whether the same statement may succeed later."""
    name = getattr(error, "sqlite_errorname", None) or ""
    return _state(error).startswith(_PASSING) or name.startswith(_LOCKED)


def _state(error: BaseException | None) -> str:
    return getattr(error, "sqlstate", None) or ""
