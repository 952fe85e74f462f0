"""Puts what the engine below has written on the disk itself, before it is acknowledged."""

import os
from pathlib import Path

# File times are coarser than the clock.
_SLACK_NANOSECONDS = 1_000_000_000

_State = tuple[int, int, int]


class Flushes:
    """Flushes below one folder, those of different moments one after the other.

    LanceDB writes through the page cache: a killed process loses nothing, a power cut might. It
    never writes to a file again that is whole, so one that looks as it did when it was flushed is
    not flushed again; directories are.
    """

    def __init__(self, folder: Path) -> None:
        """Begin with nothing flushed."""
        self._folder = folder
        self._flushed: dict[str, _State] = {}

    def since(self, moment: int) -> None:
        """Flush every file and directory that changed since a moment, as from `time.time_ns`."""
        least = moment - _SLACK_NANOSECONDS
        recent: dict[str, _State] = {}
        for parent, _, names in os.walk(self._folder):
            changed = {
                path: state
                for name in names
                if (state := _state(path := os.path.join(parent, name)))[0] >= least  # noqa: PTH118 (thousands of files; Path is slow)
            }
            for path, state in changed.items():
                if self._flushed.get(path) != state:
                    _flush(path)
            if changed:
                _flush(parent)
            recent |= changed
        self._flushed = recent


def _state(path: str) -> _State:
    """Return what changes with a file, first the time."""
    try:
        found = os.stat(path)  # noqa: PTH116 (as above)
    except FileNotFoundError:  # cleaned up meanwhile
        return 0, 0, 0
    return found.st_mtime_ns, found.st_size, found.st_ino


def _flush(path: str) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
