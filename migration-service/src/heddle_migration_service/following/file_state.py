"""Whether a database changed, without opening it."""

import time
from pathlib import Path
from typing import NamedTuple

_GRAIN = 1.0
"""Seconds. Two writes within the clock's grain leave one time, and some file systems count whole
seconds."""
_ENDINGS = ("", "-wal", "-journal")


class FileState(NamedTuple):
    """What differs after a write."""

    files: tuple[tuple[int, int, int] | None, ...]
    is_settled: bool
    """Whether the last write is long enough ago: the next one will leave another time."""

    def is_as(self, other: "FileState | None") -> bool:
        """Return whether nothing was written between two states."""
        return other is not None and other.is_settled and self.files == other.files


def file_state(path: Path) -> FileState:
    """Return the state of a database, whose files need not exist."""
    now = time.time()
    files = tuple(_stat(path.with_name(path.name + ending)) for ending in _ENDINGS)
    last = max((each[2] for each in files if each), default=0) / 1e9
    return FileState(files, is_settled=now - last > _GRAIN)


def _stat(path: Path) -> tuple[int, int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_size, stat.st_mtime_ns
