"""What can go wrong with a database, told to callers and to operators."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from heddle_runtime.errors import InvalidRequestError, UnavailableError
from sqlalchemy.exc import DBAPIError

# SQLSTATE codes and classes. What passes: conflicts between transactions, time-outs of statements
# and locks, a server that lacks resources.
_PASSING = ("40", "53", "55P03", "57014")
# What ends a connection: a server that stops or starts, one that waited too long for us.
_LOST = ("08", "57P", "25P03")
# A text with the character NUL, which PostgreSQL neither keeps nor compares.
_UNREPRESENTABLE = "22021"
_LOCKED = ("SQLITE_BUSY", "SQLITE_LOCKED")
_RETRY_AFTER = 1.0


class UnusableDatabaseError(OSError):
    """The service cannot start with this database; the sentence is for its operator."""


def busy() -> UnavailableError:
    """Return the error of a caller who waited too long for the database."""
    return UnavailableError("The database is busy. Try again.", retry_after=_RETRY_AFTER)


def unreachable() -> UnavailableError:
    """Return the error of a caller whose database does not answer."""
    message = "The database cannot be reached. Try again later."
    return UnavailableError(message, retry_after=_RETRY_AFTER)


def unrepresentable() -> InvalidRequestError:
    """Return the error of a caller who sent what no row can hold."""
    return InvalidRequestError("A text of the request holds the character NUL. Leave it out.")


@contextmanager
def translated_errors() -> Iterator[None]:
    """Tell callers about failures that pass; a lasting one goes on as it is."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if passes(error):
            raise busy() from error
        raise
    except DBAPIError as error:
        if error.connection_invalidated or _state(error.orig).startswith(_LOST):
            raise unreachable() from error
        if passes(error.orig):
            raise busy() from error
        if is_unrepresentable(error.orig):
            raise unrepresentable() from None
        raise


def passes(error: BaseException | None) -> bool:
    """Say whether the same statement may succeed when it is tried again."""
    name = getattr(error, "sqlite_errorname", None) or ""
    return _state(error).startswith(_PASSING) or name.startswith(_LOCKED)


def is_unrepresentable(error: BaseException | None) -> bool:
    """Say whether it is about a text that the database cannot hold."""
    return _state(error) == _UNREPRESENTABLE


def _state(error: BaseException | None) -> str:
    return getattr(error, "sqlstate", None) or ""
