"""A process that is killed while it patches leaves files that are all old or all new."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

import pytest
from heddle_tools_service.capabilities.workspace import Edit
from heddle_tools_service.workspace.engine import Workspace
from tools_service.workspace.areas import left_over, patched

TESTS = Path(__file__).parents[2]
ROUNDS = 200


async def started(script: str, *arguments: str) -> Process:
    path = str(Path(__file__).with_name(script))
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    return await asyncio.create_subprocess_exec(
        *(sys.executable, path, *arguments), env=environment, stdout=PIPE
    )


@pytest.mark.exhaustive
async def test_a_killed_patch_is_done_or_undone_in_all_of_its_files(tmp_path: Path) -> None:
    running = await started("patch_until_killed.py", str(tmp_path), str(ROUNDS))
    output, _ = await running.communicate()

    assert running.returncode == 0
    summary = json.loads(output)
    assert summary["torn"] == 0
    assert summary["left over"] == 0
    assert summary["old"] + summary["new"] == ROUNDS
    assert summary["old"] > ROUNDS / 10
    assert summary["new"] > ROUNDS / 10
    assert summary["found broken off"] > ROUNDS / 5  # else it was killed too early or too late


async def test_who_waits_for_a_patch_that_is_killed_puts_it_right_first(
    workspace: Workspace, tmp_path: Path
) -> None:
    one, other = tmp_path / "ana" / "a.txt", tmp_path / "ana" / "b.txt"
    for file in (one, other):
        file.write_text("old\n")
    running = await started("patch_and_stop.py", str(tmp_path))
    try:
        assert running.stdout
        assert await running.stdout.readline() == b"stopped\n"
        assert (one.read_text(), other.read_text()) == ("new\n", "old\n")

        insertion = Edit("more", "", 1, 0)
        later = asyncio.create_task(asyncio.to_thread(patched, workspace, "b.txt", insertion))
        await asyncio.sleep(0.3)
        assert not later.done()
    finally:
        running.kill()
        await running.communicate()
    await later

    assert (one.read_text(), other.read_text()) == ("old\n", "more\nold\n")
    assert left_over(tmp_path) == []
