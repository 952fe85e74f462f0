"""Puts what the engine below has written on the disk itself, before it is acknowledged."""

import os
import time
from pathlib import Path

# File times are coarser than the clock.
_SLACK = 1_000_000_000
_WRITTEN_BACK = 60_000_000_000
"""The time in ns after which unflushed data is on the disk: Linux waits for half a minute."""

_State = tuple[int, int, int]


class Flushes:
    """Flushes below one folder.

    LanceDB writes through the page cache: a killed process loses nothing, a power cut might. It
    never writes to a file again that is whole, so one that looks as it did when it was flushed is
    not flushed again; directories are.
    """

    def __init__(self, folder: Path) -> None:
        """Take the folder. Files that did not change for a minute count as flushed."""
        self._folder = folder
        self._flushed: dict[str, _State] = {}
        self._least = time.time_ns() - _WRITTEN_BACK
        """In nanoseconds since 1970; what has not changed since is on the disk."""

    def flush(self) -> None:
        """Flush every file and directory that changed since the last time, also by other processes.

        A commit depends on those before it, and the process of an earlier one may have died, or
        may not have flushed yet.
        """
        began = time.time_ns()
        if not self._flushed:
            _flush(os.fspath(self._folder.parent))  # the name of the folder itself
        recent: dict[str, _State] = {}
        for parent, _, names in os.walk(self._folder):
            changed = {
                path: state
                for name in names
                if (state := _state(path := os.path.join(parent, name)))[0] >= self._least  # noqa: PTH118 (thousands of files; Path is slow)
            }
            for path, state in changed.items():
                if self._flushed.get(path) != state:
                    _flush(path)
            if changed or _state(parent)[0] >= self._least:
                _flush(parent)
            recent |= changed
        self._flushed, self._least = recent, began - _SLACK


def _state(path: str) -> _State:
    """Return values that change with a file, first the time."""
    try:
        status = os.stat(path)  # noqa: PTH116 (as above)
    except FileNotFoundError:  # cleaned up meanwhile
        return 0, 0, 0
    return status.st_mtime_ns, status.st_size, status.st_ino


def _flush(path: str) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
