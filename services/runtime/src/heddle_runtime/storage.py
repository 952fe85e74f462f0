"""Failures of files that hold a service's data: full disks, files that are removed or replaced."""

import errno
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from heddle_runtime.errors import StorageError

RETRY_SECONDS = 30.0
MIN_FREE_BYTES = 16 * 1024 * 1024
"""Free space of a disk below which a service reports a problem."""
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FAILED = {errno.EIO, errno.EROFS}
_RUST_ERROR = re.compile(r"\(os error (\d{1,4})\)")
_SQLITE_FULL = "SQLITE_FULL"
# The disk refused a write. SQLite reports a limit on the size of a file in this way as well.
_SQLITE_FAILED = ("SQLITE_IOERR", "SQLITE_READONLY_", "SQLITE_CANTOPEN")
_Identity = tuple[int, int]


class StoredFiles:
    """Notices that files were removed or replaced after a process opened them.

    A process that keeps such a file open writes to a file that nobody can open again. Every file
    is known by its device and inode.
    """

    def __init__(self, *paths: Path) -> None:
        """Remember which files are at `paths`.

        Raises:
            FileNotFoundError: There is no file.
        """
        self._identities = {os.fspath(path): _identity(os.fspath(path)) for path in paths}

    def check(self) -> None:
        """Check that the same files are there. Costs about a microsecond for each file.

        Raises:
            StorageError: A file was removed or replaced.
        """
        for path, identity in self._identities.items():
            try:
                current = _identity(path)
            except OSError:
                raise storage_error(
                    f"The file {path} was removed while the service used it. Put it back, for "
                    "example from a backup, and restart the service."
                ) from None
            if current != identity:
                raise storage_error(
                    f"The file {path} was replaced while the service used it. Restart the service, "
                    "which then uses the new file."
                )


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


def _identity(path: str) -> _Identity:
    status = os.stat(path)  # noqa: PTH116 - several times for each write; Path is slower
    return status.st_dev, status.st_ino
