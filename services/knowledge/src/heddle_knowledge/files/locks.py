"""Exclusive locks between processes, which the kernel drops when their holder dies."""

import asyncio
import fcntl
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

_SHORTEST_WAIT = 0.005
_LONGEST_WAIT = 0.05


@asynccontextmanager
async def exclusive(path: Path) -> AsyncGenerator[None]:
    """Hold the lock of a file, waiting for it as long as it takes.

    Two holders exclude each other whether they live in one process or in two, for every holder
    opens the file anew. Cancelling the wait is safe. The last thing that a holder does may be to
    remove the file.
    """
    wait = _SHORTEST_WAIT
    while True:
        descriptor = _opened(path)
        try:
            while not _taken(descriptor):
                await asyncio.sleep(wait)
                wait = min(wait * 2, _LONGEST_WAIT)
            if _stands(descriptor, path):
                yield
                return
        finally:
            os.close(descriptor)  # which also unlocks


@asynccontextmanager
async def exclusive_if_free(path: Path) -> AsyncGenerator[bool]:
    """Hold the lock of a file if it is free; yield whether it was."""
    descriptor = _opened(path)
    try:
        yield _taken(descriptor) and _stands(descriptor, path)
    finally:
        os.close(descriptor)


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _stands(descriptor: int, path: Path) -> bool:
    """Return whether the path still leads to the open file."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return not path.parent.exists()  # with its folder: there is nothing to lock any more
