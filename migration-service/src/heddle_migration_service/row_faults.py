"""Finding the rows that a step fails for, so that it is done with the others."""

import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import structlog
from grpc import StatusCode
from heddle_runtime.errors import HeddleError, InvalidRequestError

log = structlog.get_logger(__name__)
_ABOUT_ROWS = (StatusCode.INVALID_ARGUMENT, StatusCode.INTERNAL)
_UNREADABLE = "Heddle cannot use it ({}). The log of the migration service has the details."
RowT = TypeVar("RowT")
ResultT = TypeVar("ResultT")


async def isolated(
    rows: Sequence[RowT],
    step: Callable[[Sequence[RowT]], Awaitable[Sequence[ResultT]]],
    refused: Callable[[RowT, HeddleError], ResultT],
) -> list[ResultT]:
    """Return the results of a step, one for each row.

    A step that fails is repeated with both halves of its rows, until those that it fails for are
    alone.

    Args:
        rows: The rows.
        step: Returns the result of each row. It may be repeated after a failure.
        refused: Returns the result of a row that the step fails for.

    Raises:
        Exception: A failure that no row causes, such as a service that cannot be reached.
    """
    try:
        return list(await step(rows))
    except Exception as error:
        if not _is_about_rows(error):
            raise
        if len(rows) == 1:
            return [refused(rows[0], row_error(error))]
    middle = len(rows) // 2
    return [
        *await isolated(rows[:middle], step, refused),
        *await isolated(rows[middle:], step, refused),
    ]


def row_error(error: Exception) -> HeddleError:
    """Return why a row is refused, for a failure while it was worked on."""
    if isinstance(error, HeddleError):
        return error
    log.error("row refused", exc_info=error)
    return InvalidRequestError(_UNREADABLE.format(type(error).__name__))


def _is_about_rows(error: Exception) -> bool:
    if isinstance(error, HeddleError):
        # gRPC's own failures have the name of its code.
        return error.code in _ABOUT_ROWS and "grpc_code" not in error.metadata
    return not isinstance(error, sqlite3.Error | OSError | MemoryError)
