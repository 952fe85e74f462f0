"""Writes files so that after a crash either the old or the new file is there, complete."""

import os
import uuid
from pathlib import Path

TEMPORARY_PREFIX = "."
"""The beginning of the names of files that are being written."""


def write(path: Path, data: bytes) -> None:
    """Replace a file in one step; it is on disk when this returns. Its folder must exist."""
    temporary = path.with_name(f"{TEMPORARY_PREFIX}{path.name}.{uuid.uuid4().hex}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # before the rename: a crash may leave an empty file
        temporary.replace(path)
    except BaseException:  # most often a full disk
        temporary.unlink(missing_ok=True)
        raise
    sync(path.parent)


def sync(folder: Path) -> None:
    """Write the names of the files of a folder to disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
