"""Ends the processes that a test run has started and left, also when the run is killed.

`python run_reaper.py RUN` waits until its standard input ends. It then kills each process with
`TEST_RUN=RUN` in its environment: services, databases, object stores and browsers.
"""

import os
import signal
import sys
import time
import uuid
from contextlib import suppress
from pathlib import Path

# Commands of tests leave out what begins with HEDDLE_, and still belong to the run.
_NAME = "TEST_RUN"
_PASSES = 10


def start() -> None:
    """Mark what this process starts from now on, unless it is marked itself, and watch it."""
    if _NAME in os.environ:
        return
    os.environ[_NAME] = run = uuid.uuid4().hex
    reading, _ = os.pipe()  # the other end closes with this process
    os.posix_spawn(
        sys.executable,
        [sys.executable, "-S", __file__, run],
        {},
        file_actions=[
            (os.POSIX_SPAWN_DUP2, reading, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        ],
        setsid=True,
    )
    os.close(reading)


def _main(run: str) -> None:
    sys.stdin.buffer.read()
    for _ in range(_PASSES):  # some start others when they end
        processes = [path for path in Path("/proc").glob("[0-9]*/environ") if _is_of(run, path)]
        if not processes:
            return
        for path in processes:
            with suppress(ProcessLookupError):
                os.kill(int(path.parent.name), signal.SIGKILL)
        time.sleep(0.2)


def _is_of(run: str, environment: Path) -> bool:
    with suppress(OSError):
        return f"{_NAME}={run}".encode() in environment.read_bytes()
    return False


if __name__ == "__main__":
    _main(sys.argv[1])
