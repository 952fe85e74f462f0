"""Child processes whose pipes belong to the event loop."""

import asyncio
import sys
from pathlib import Path

import pytest
from heddle_knowledge.workers.pipes import start
from patience import until

_OPEN = Path("/proc/self/fd")


def open_files() -> int:
    return len(list(_OPEN.iterdir()))


@pytest.mark.skipif(not _OPEN.exists(), reason="only Linux tells which files are open")
@pytest.mark.parametrize("steps", range(1, 7))
async def test_a_start_that_is_given_up_leaves_no_pipe_open(steps: int) -> None:
    command = [sys.executable, "-c", "input()"]
    await (await start(command, {})).bury()  # what stays open for good is open now
    before = open_files()
    starting = asyncio.create_task(start(command, {}))
    for _ in range(steps):
        await asyncio.sleep(0)
    starting.cancel()
    (outcome,) = await asyncio.gather(starting, return_exceptions=True)
    if not isinstance(outcome, BaseException):
        await outcome.bury()
    await until(lambda: open_files() <= before)
