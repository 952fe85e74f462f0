"""Processes end with the process that started them, also if it is killed."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from patience import until

TESTS = Path(__file__).parents[1]
SERVICE = f"{sys.executable} -m heddle_orchestrator & echo $!; wait"
RUN = """
import subprocess, run_reaper
run_reaper.start()
print(subprocess.Popen(["sleep", "60"], start_new_session=True).pid, flush=True)
input()
"""


@asynccontextmanager
async def started(*command: str, **variables: str) -> AsyncIterator[tuple[int, int]]:
    """Start a process that starts another one and prints its number; yield both numbers."""
    environment = {key: value for key, value in os.environ.items() if key != "TEST_RUN"}
    process = await asyncio.create_subprocess_exec(
        *command,
        env={**environment, "PYTHONPATH": str(TESTS), **variables},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    child = int(await process.stdout.readline())
    try:
        yield process.pid, child
    finally:
        if is_running(child):
            os.kill(child, signal.SIGKILL)
        await process.communicate()  # reads the pipe to its end, which closes it


def is_running(process: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False


async def test_a_service_ends_with_its_parent() -> None:
    variables = {"HEDDLE_END_WITH_PARENT": "true", "HEDDLE_ORCHESTRATOR_LISTEN": "127.0.0.1:0"}
    async with started("sh", "-c", SERVICE, **variables) as (parent, service):
        await until(lambda: serves(service), 90)
        os.kill(parent, signal.SIGKILL)
        await until(lambda: not is_running(service))


def serves(process: int) -> bool:
    """Return whether a process handles SIGTERM, as a service does once it serves."""
    status = Path(f"/proc/{process}/status").read_text()
    handled = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(handled.split()[1], 16) >> (signal.SIGTERM - 1) & 1)


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
async def test_processes_that_tests_start_end_with_the_run(end: signal.Signals) -> None:
    async with started(sys.executable, "-c", RUN) as (run, process):
        os.kill(run, end)
        await until(lambda: not is_running(process))
