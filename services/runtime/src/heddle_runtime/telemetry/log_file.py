"""The file that receives the log in place of standard error."""

import os
import sys
from pathlib import Path
from typing import TextIO

ROTATION_BYTES = 10_000_000
"""The size at which the file is renamed. With the former one, logs take twice as much."""
CHECK_SECONDS = 60.0
_ERRORS = 2


def use(path: Path) -> TextIO:
    """Send all that this process and its children write to standard error to a file from now on.

    Returns:
        The former standard error.

    Raises:
        OSError: The file cannot be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    terminal = os.fdopen(os.dup(_ERRORS), "w", encoding="utf-8", errors="replace", buffering=1)
    rotate(path)
    _redirect(path)
    return terminal


def rotate(path: Path, size: int = ROTATION_BYTES) -> None:
    """Rename the file to `<name>.1` and begin another one, if it has `size` or more."""
    if path.exists() and path.stat().st_size >= size:
        path.replace(path.with_name(f"{path.name}.1"))
        _redirect(path)


def _redirect(path: Path) -> None:
    sys.stderr.flush()
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(descriptor, _ERRORS)  # also C libraries and child processes write there
    os.close(descriptor)
