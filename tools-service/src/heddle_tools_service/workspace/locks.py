"""Locks between threads and processes, which the kernel drops when their holder dies."""

import fcntl
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path

from heddle_tools_service.workspace.errors import WorkspaceError

_STRIPES = 64  # lock files; paths with the same file exclude each other
_SHORTEST_WAIT = 0.002
_MAX_WAIT_SECONDS = 0.05


@contextmanager
def held(path: Path, deadline: float, *, shared: bool = False) -> Iterator[None]:
    """Hold the lock of a file, opened anew, so that threads exclude each other too.

    Raises:
        WorkspaceError: `conflict`, another holder keeps it until `deadline`.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    wait = _SHORTEST_WAIT
    try:
        while not taken(descriptor, shared=shared):
            if time.monotonic() >= deadline:
                message = (
                    "Another call is changing the same files. Read them again, then try again."
                )
                raise WorkspaceError("conflict", message)
            time.sleep(wait)
            wait = min(wait * 2, _MAX_WAIT_SECONDS)
        yield
    finally:
        os.close(descriptor)  # which also unlocks


@contextmanager
def paths_held(folder: Path, paths: Iterable[str], deadline: float) -> Iterator[None]:
    """Hold the locks of `paths`. A fixed number of files serves all paths that there can be."""
    stripes = {sha256(path.encode()).digest()[0] % _STRIPES for path in paths}
    with ExitStack() as locks:
        for stripe in sorted(stripes):  # one order for all callers, so that they cannot deadlock
            locks.enter_context(held(folder / f"{stripe:02}", deadline))
        yield


def taken(descriptor: int, *, shared: bool = False) -> bool:
    """Try to lock an open file without waiting, and return whether it succeeded."""
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
