"""Commands of the documentation, run as an operator's shell would."""

import asyncio
import os
import sys
from pathlib import Path


async def run(command: str, folder: Path | None = None, **variables: str) -> str:
    """Run one command in `folder`, and return what it prints."""
    programs = [str(Path(__file__).parent), str(Path(sys.executable).parent), os.environ["PATH"]]
    secret = {"HEDDLE_IDENTITY_SECRET": "a-secret-of-at-least-32-characters"}
    process = await asyncio.create_subprocess_shell(
        command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=dict(os.environ) | {"PATH": os.pathsep.join(programs)} | secret | variables,
        cwd=folder,
    )
    output, _ = await asyncio.wait_for(process.communicate(), 60)
    return output.decode()
