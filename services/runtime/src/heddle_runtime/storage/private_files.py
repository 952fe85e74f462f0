"""Data that only the user of the services may read."""

import os
from pathlib import Path

import structlog

log = structlog.get_logger(__name__)
_OTHERS = 0o077


def create_private_files() -> None:
    """Give no rights to others on what this process and its children create."""
    os.umask(_OTHERS)


def private_folder(path: Path) -> None:
    """Create a folder, or take the rights of others from an existing one.

    Raises:
        OSError: The folder cannot be created.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    make_private(path)


def make_private(path: Path) -> None:
    """Take the rights of others from a file or folder. Does nothing if it does not exist.

    A volume may belong to another user. What services create in it is private all the same.
    """
    try:
        mode = path.stat().st_mode
        if mode & _OTHERS:
            path.chmod(mode & 0o7700)
            log.warning("took the rights of others from data", path=str(path))
    except FileNotFoundError:
        return
    except PermissionError:
        log.warning("others may enter a data folder; run chmod go-rwx as its owner", path=str(path))
