"""Ports for servers that must be told where to listen."""

import itertools
import os
import random
import socket

# The system gives those from 32768 on to whoever asks for any, so that nobody gets one of these
# between its choice and its use. Test runs side by side have ranges of their own.
_FIRST = 20_000
_MANY = 1_000
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 12
_numbers = itertools.count(random.randrange(_MANY))  # noqa: S311 - no secret


def free_port() -> int:
    """Return a port of this machine on which nobody listens, and a new one each time."""
    for number in itertools.islice(_numbers, _MANY):
        port = _FIRST + _WORKER * _MANY + number % _MANY
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port
    raise RuntimeError("All ports of this test run are taken.")
