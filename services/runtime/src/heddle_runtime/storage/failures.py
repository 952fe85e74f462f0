"""Failures of files that hold a service's data: full disks, files that are removed or replaced."""

import errno
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from heddle_runtime.errors import StorageError
from heddle_runtime.storage.stored_files import LostFileError

RETRY_SECONDS = 30.0
MIN_FREE_BYTES = 16 * 1024 * 1024
"""Free space of a disk below which a service reports a problem."""
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FAILED = {errno.EIO, errno.EROFS}
_RUST_ERROR = re.compile(r"\(os error (\d{1,4})\)")
_SQLITE_FULL = "SQLITE_FULL"
# The disk refused a write. SQLite reports a limit on the size of a file in this way as well.
_SQLITE_FAILED = ("SQLITE_IOERR", "SQLITE_READONLY_", "SQLITE_CANTOPEN")


def check_space(folder: Path) -> None:
    """Check that a disk has space for some more writes.

    Raises:
        StorageError: It has not, or there is no such folder.
    """
    try:
        disk = os.statvfs(folder)
    except OSError as error:
        raise storage_error(f"{folder} cannot be used: {error.strerror}.") from error
    free = disk.f_bavail * disk.f_frsize
    if free < MIN_FREE_BYTES:
        raise storage_error(
            f"The disk of {folder} has {free // 1024} KiB left. Free space on it; no restart is "
            "needed."
        )


def storage_error(diagnosis: str) -> StorageError:
    """Return the error of a caller whose data cannot be stored."""
    message = "The data cannot be stored at the moment. Try again later, or tell the operator."
    return StorageError(message, retry_after=RETRY_SECONDS, diagnosis=diagnosis)


def storage_problem(error: BaseException | None, path: object = "") -> StorageError | None:
    """Return the error for a disk that refused an operation, None for other failures.

    Args:
        error: The failure.
        path: Of what is stored, for the operator. By default the one that `error` names.
    """
    path = path or getattr(error, "filename", None) or "the service's data"
    if isinstance(error, LostFileError):
        return storage_error(str(error))
    number = _error_number(error)
    if number in _FULL:
        return storage_error(_full(path))
    if number in _FAILED:
        return storage_error(f"The disk of {path} fails: {os.strerror(number)}. Check it.")
    if isinstance(error, sqlite3.Error):
        name = getattr(error, "sqlite_errorname", None) or ""
        if name == _SQLITE_FULL:
            return storage_error(_full(path))
        if name.startswith(_SQLITE_FAILED):
            return storage_error(
                f"{path} cannot be written ({name}: {error}). The disk may be full. Check its "
                "space and the permissions of the file."
            )
    return None


@contextmanager
def translated_storage_errors(path: object) -> Iterator[None]:
    """Raise `StorageError` for a disk that refuses an operation on `path` in the block."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        if problem := storage_problem(error, path):
            raise problem from error
        raise


def _error_number(error: BaseException | None) -> int:
    """Return the system's number of an error, 0 for others. LanceDB has it in its text only."""
    match error:
        case OSError():
            return error.errno or 0
        case RuntimeError() if match := _RUST_ERROR.search(str(error)):
            return int(match[1])
        case _:
            return 0


def _full(path: object) -> str:
    return f"The disk of {path} is full. Free space on it; no restart is needed."
