"""docs/grpcurl.md: every command runs against a whole Heddle and prints what the page shows."""

import asyncio
import os
import shutil
import sys
from pathlib import Path

from docs.console import agrees, pieces, steps
from integration.whole import whole

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "grpcurl.md"


async def test_every_command_of_the_page_prints_what_the_page_shows(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path, dirs_exist_ok=True)
    commands = steps(PAGE)
    assert len(commands) > 15

    async with whole(tmp_path) as running:
        addresses = {
            "localhost:9101": running.stack.orchestrator,
            "localhost:9102": running.stack.tools,
            "localhost:9103": running.stack.connector,
            "localhost:9104": running.stack.migration,
        }
        for step in commands:
            command = step.command
            for shown, actual in addresses.items():
                command = command.replace(shown, actual)
            printed = await run(command)
            expected = pieces(step.output)
            assert agrees(expected, pieces(printed)), f"{PAGE}:{step.line}\n{printed}"


async def run(command: str) -> str:
    """Run one command as an operator's shell would, and return what it prints."""
    programs = [str(Path(__file__).parent), str(Path(sys.executable).parent), os.environ["PATH"]]
    secret = {"HEDDLE_IDENTITY_SECRET": "a-secret-of-at-least-32-characters"}
    process = await asyncio.create_subprocess_shell(
        command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=dict(os.environ) | {"PATH": os.pathsep.join(programs)} | secret,
    )
    output, _ = await asyncio.wait_for(process.communicate(), 60)
    return output.decode()
