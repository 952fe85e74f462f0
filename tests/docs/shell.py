"""Runs commands of the documentation as an operator's shell does."""

import asyncio
import os
import sys
from pathlib import Path

from heddle_runtime.settings.local_secret import OF_THIS_PROCESS

_MAX_SECONDS = 300
_HERE = Path(__file__).parent


async def run(command: str, folder: Path | None = None, **variables: str) -> str:
    """Run one command in `folder`, and return what it prints."""
    # Last: the machine's own curl, if there is one, comes before the stand-in.
    own_programs = Path(sys.executable).parent
    programs = [_HERE / "loaded", own_programs, os.environ["PATH"], _HERE / "stand_ins"]
    path = os.pathsep.join(str(each) for each in programs)
    own = os.environ.get("HEDDLE_IDENTITY_SECRET")
    secret = {"HEDDLE_IDENTITY_SECRET": own or OF_THIS_PROCESS.get_secret_value()}
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
