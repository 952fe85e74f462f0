"""docs/grpcurl.md: every command runs against a whole Heddle and prints what the page shows."""

import shutil
from pathlib import Path

from docs.console import agrees, pieces, steps
from docs.shell import run
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
            "localhost:9104": running.stack.assistants,
        }
        for step in commands:
            command = step.command
            for shown, actual in addresses.items():
                command = command.replace(shown, actual)
            printed = await run(command)
            expected = pieces(step.output)
            assert agrees(expected, pieces(printed)), f"{PAGE}:{step.line}\n{printed}"
