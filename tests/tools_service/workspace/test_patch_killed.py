"""A process that is killed while it patches leaves files that are all old or all new."""

import asyncio
import json
import os
import sys
from pathlib import Path

TESTS = Path(__file__).parents[2]
ROUNDS = 200


async def test_a_killed_patch_is_done_or_undone_in_all_of_its_files(tmp_path: Path) -> None:
    script = Path(__file__).with_name("patch_until_killed.py")
    running = await asyncio.create_subprocess_exec(
        *(sys.executable, str(script), str(tmp_path), str(ROUNDS)),
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await running.communicate()

    assert running.returncode == 0
    summary = json.loads(output)
    assert summary["torn"] == 0
    assert summary["left over"] == 0
    assert summary["old"] + summary["new"] == ROUNDS
    assert summary["old"] > ROUNDS / 10
    assert summary["new"] > ROUNDS / 10
    assert summary["found broken off"] > ROUNDS / 5  # else it was killed too early or too late
