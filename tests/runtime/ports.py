"""Ports for servers that must be told where to listen."""

import fcntl
import itertools
import os
import random
import socket
import tempfile
from functools import cache
from pathlib import Path

# The system gives those from 32768 on to whoever asks for any, so that nobody gets one of these
# between its choice and its use.
_FIRST, _RANGES = 20_000, 12
_MANY = 1_000
"""Ports of a range."""
_numbers = itertools.count(random.randrange(_MANY))  # noqa: S311 - no secret


def free_port() -> int:
    """Return a port of this machine on which nobody listens, and a new one each time."""
    first = _own_range()
    for number in itertools.islice(_numbers, _MANY):
        port = first + number % _MANY
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port
    raise RuntimeError("All ports of this process are taken.")


@cache
def _own_range() -> int:
    """Return the first port of a range that no other process of tests uses.

    The descriptor of its lock stays open until the process ends.
    """
    folder = Path(tempfile.gettempdir()) / "heddle-ports"
    folder.mkdir(exist_ok=True)
    for number in range(_RANGES):
        lock = os.open(folder / str(number), os.O_CREAT | os.O_WRONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            continue
        return _FIRST + number * _MANY
    raise RuntimeError(f"{_RANGES} processes of tests have all ranges of ports.")


# A module that takes a port when it is imported does so before the forks of the tests start.
os.register_at_fork(after_in_child=_own_range.cache_clear)
