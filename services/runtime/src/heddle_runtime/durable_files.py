"""Puts files on the disk so that a crash leaves the old one or the new one, whole."""

import os
import uuid
from pathlib import Path


def write(path: Path, data: bytes) -> None:
    """Write a file in one step, and see it onto the disk; its folder must exist."""
    unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with unfinished.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:  # a full disk, above all
        unfinished.unlink(missing_ok=True)
        raise
    sync(path.parent)


def sync(folder: Path) -> None:
    """See the names of a folder onto the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
