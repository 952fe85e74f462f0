"""Scripts of this folder as processes that start together."""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

FOLDER = Path(__file__).parent


async def ready(script: str, *arguments: object) -> Process:
    """Start a script and wait until it says that it is ready."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, FOLDER / script, *map(str, arguments), stdin=PIPE, stdout=PIPE
    )
    assert process.stdout
    assert await process.stdout.readline() == b"ready\n"
    return process


async def outputs(processes: list[Process]) -> list[bytes]:
    """Let all of them go on, and return what each prints until it ends well."""
    for process in processes:
        assert process.stdin
        process.stdin.write(b"go\n")
    printed = [(await process.communicate())[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes)
    return printed
