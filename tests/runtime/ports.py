"""Ports for servers that must be told where to listen."""

import fcntl
import itertools
import random
import socket
import tempfile
from functools import cache
from pathlib import Path
from typing import IO

# The system gives those from 32768 on to whoever asks for any, so that nobody gets one of these
# between its choice and its use.
_FIRST, _RANGES = 20_000, 12
_MANY = 1_000
"""Ports of a range."""
_numbers = itertools.count(random.randrange(_MANY))  # noqa: S311 - no secret


def free_port() -> int:
    """Return a port of this machine on which nobody listens, and a new one each time."""
    first, _ = _own_range()
    for number in itertools.islice(_numbers, _MANY):
        port = first + number % _MANY
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port
    raise RuntimeError("All ports of this process are taken.")


@cache
def _own_range() -> tuple[int, IO[str]]:
    """Return the first port of a range that no other process of tests uses, and its lock."""
    folder = Path(tempfile.gettempdir()) / "heddle-ports"
    folder.mkdir(exist_ok=True)
    for number in range(_RANGES):
        lock = (folder / str(number)).open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            continue
        return _FIRST + number * _MANY, lock
    raise RuntimeError(f"{_RANGES} processes of tests have all ranges of ports.")
