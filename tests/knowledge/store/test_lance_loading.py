"""What LanceDB loads, and what goes on meanwhile."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

MESSAGES = """
import asyncio, json, sys
from heddle_knowledge.engines.address import open_engine

async def main():
    async with open_engine(sys.argv[1], {}) as engine:
        names = await engine.names()
    import lancedb
    tables = lancedb.db.ListTablesResponse(tables=["a"]).tables
    messages = "lance_namespace_urllib3_client.models."
    print(json.dumps([names, tables, sum(name.startswith(messages) for name in sys.modules)]))

asyncio.run(main())
"""
PAUSES = """
import asyncio, json, sys, time
from heddle_knowledge.engines.address import open_engine

async def main():
    pauses = []

    async def measure():
        while True:
            began = time.monotonic()
            await asyncio.sleep(0.005)
            pauses.append(time.monotonic() - began)

    measuring = asyncio.create_task(measure())
    await asyncio.sleep(0.1)
    began = time.monotonic()
    async with open_engine(sys.argv[1], {}):
        await asyncio.sleep(0.1)
        print(json.dumps([time.monotonic() - began - 0.1, max(pauses)]))
    measuring.cancel()

asyncio.run(main())
"""


def printed(program: str, folder: Path) -> list[object]:
    """Return what a program prints in an interpreter that has loaded nothing."""
    ran = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", program, str(folder)], check=True, capture_output=True, text=True
    )
    values: list[object] = json.loads(ran.stdout)
    return values


def test_messages_of_remote_servers_are_loaded_on_demand(tmp_path: Path) -> None:
    names, tables, messages = printed(MESSAGES, tmp_path)
    assert (names, tables) == ([], ["a"])
    assert isinstance(messages, int)
    assert 0 < messages < 30  # of 160


@pytest.mark.exhaustive
def test_other_calls_go_on_while_the_engine_is_loaded(tmp_path: Path) -> None:
    loading, longest_pause = printed(PAUSES, tmp_path)
    assert isinstance(loading, float)
    assert isinstance(longest_pause, float)
    assert longest_pause < loading / 2
