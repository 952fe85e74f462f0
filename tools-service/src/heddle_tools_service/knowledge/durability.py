"""Puts what the engine below has written on the disk itself, before it is acknowledged."""

import os
from pathlib import Path

# File times are coarser than the clock.
_SLACK_NANOSECONDS = 1_000_000_000


def sync_since(folder: Path, moment: int) -> None:
    """Flush every file and directory below a folder that changed since a moment.

    LanceDB writes through the page cache: a killed process loses nothing, a power cut might.

    Args:
        folder: Where to look.
        moment: As from `time.time_ns`.
    """
    for parent, _, names in os.walk(folder):
        changed = [
            path
            for name in names
            if _changed_at(path := os.path.join(parent, name)) >= moment - _SLACK_NANOSECONDS  # noqa: PTH118 (thousands of files; Path is slow)
        ]
        for path in changed:
            _sync(path)
        if changed:
            _sync(parent)


def _changed_at(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116 (as above)
    except FileNotFoundError:  # cleaned up meanwhile
        return 0


def _sync(path: str) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
