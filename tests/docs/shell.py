"""Runs commands of the documentation as an operator's shell does."""

import asyncio
import os
import sys
from pathlib import Path

_MAX_SECONDS = 300
_HERE = Path(__file__).parent


async def run(command: str, folder: Path | None = None, **variables: str) -> str:
    """Run one command in `folder`, and return what it prints."""
    # Last: the machine's own curl, if there is one, comes before the stand-in.
    programs = [Path(sys.executable).parent, os.environ["PATH"], _HERE / "stand_ins"]
    path = os.pathsep.join(str(each) for each in programs)
    secret = {"HEDDLE_IDENTITY_SECRET": "a-secret-of-at-least-32-characters"}
    process = await asyncio.create_subprocess_shell(
        command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=dict(os.environ) | {"PATH": path} | secret | variables,
        cwd=folder,
    )
    output, _ = await asyncio.wait_for(process.communicate(), _MAX_SECONDS)
    return output.decode()
