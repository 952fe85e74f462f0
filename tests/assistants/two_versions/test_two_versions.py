"""Two versions of the assistants service on one PostgreSQL: upgrade, downgrade, refusals."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from assistants.audit.reading import events, faults
from assistants.postgres import Postgres
from assistants.replicas import Replica, replica
from assistants.serving import ADA, SECRET
from assistants.two_versions.later import LATER, NOW, install
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_runtime.storage.database.engine import open_database
from sqlalchemy import text

pytestmark = pytest.mark.exhaustive


@pytest.fixture(scope="module")
def later(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The PYTHONPATH of the next version."""
    return install(tmp_path_factory.mktemp("later"))


def ran(module: str, url: str, *arguments: str, path: str = "") -> subprocess.CompletedProcess[str]:
    """Run a module to its end."""
    environment = {
        **os.environ,
        "PYTHONPATH": path,
        "HEDDLE_IDENTITY_SECRET": SECRET,
        "HEDDLE_ASSISTANTS_DATABASE": url,
        "HEDDLE_ASSISTANTS_KEY_PEPPER": SECRET,
        "HEDDLE_ASSISTANTS_ENCRYPTION_KEY": SECRET,
        "HEDDLE_ASSISTANTS_LISTEN": "127.0.0.1:0",
    }
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(  # noqa: S603 - our own module
        command, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


async def create(it: Replica, name: str) -> str:
    return (await it.as_(ADA).create(name)).assistant.id


async def name_of(it: Replica, number: str) -> str:
    request = pb.GetAssistantRequest(reference=f"lamb_assistant.{number}")
    ada = it.as_(ADA)
    return (await ada.ask(ada.assistants.GetAssistant, request)).assistant.name


@asynccontextmanager
async def calling(it: Replica) -> AsyncIterator[list[str]]:
    """Create and read assistants at a replica, again and again, during the block."""
    numbers: list[str] = []
    ends = asyncio.Event()

    async def call() -> None:
        while not ends.is_set():
            number = await create(it, f"during-{len(numbers)}")
            assert await name_of(it, number) == f"during-{len(numbers)}"
            numbers.append(number)

    task = asyncio.create_task(call())
    try:
        yield numbers
    finally:
        ends.set()
        await task  # raises what a call raised


async def test_both_versions_serve_during_an_upgrade(
    postgres_server: Postgres, later: str, tmp_path: Path
) -> None:
    with postgres_server.database() as url:
        async with replica(url, tmp_path / "earlier.log") as old:
            assert ran("heddle_assistants.schema", url).stdout == (
                f"The tables are at revision {NOW}.\n"
            )
            first = await create(old, "first")
            async with (
                calling(old) as numbers,
                replica(url, tmp_path / "newer.log", PYTHONPATH=later) as new,
            ):
                before = len(numbers)
                assert ran("heddle_assistants.schema", url).stdout == (
                    f"The tables are at revision {LATER}.\n"
                )
                second = await create(new, "second")
                assert await name_of(old, second) == "second"
                assert await name_of(new, first) == "first"
                third = await create(old, "third")
                assert await name_of(new, third) == "third"
                while len(numbers) < before + 5:  # the earlier version goes on
                    await asyncio.sleep(0.01)
                assert await faults(old) == await faults(new) == []
                assert len(await events(new)) > before

        async with replica(url, tmp_path / "restarted.log") as old:
            assert await name_of(old, second) == "second"
        assert "works with this one" in (tmp_path / "restarted.log").read_text()

        taken_back = ran("heddle_assistants.schema", url, "downgrade", NOW, path=later)
        assert taken_back.returncode == 0, taken_back.stderr
        async with replica(url, tmp_path / "again.log") as old:
            for number, name in ((first, "first"), (second, "second"), (third, "third")):
                assert await name_of(old, number) == name
            assert await faults(old) == []


async def test_a_downgrade_that_would_lose_something_names_the_backup(
    postgres_server: Postgres, later: str, tmp_path: Path
) -> None:
    with postgres_server.database() as url:
        async with replica(url, tmp_path / "earlier.log") as old:
            await create(old, "tutor")
        async with replica(url, tmp_path / "newer.log", PYTHONPATH=later):
            pass
        async with open_database(url) as database, database.writing() as connection:
            await connection.execute(text("UPDATE organizations SET colour = 'red'"))
        refused = ran("heddle_assistants.schema", url, "downgrade", NOW, path=later)
        assert refused.returncode == 1
        assert "organisations got colours since the upgrade" in refused.stderr
        assert "restore the backup from before the upgrade" in refused.stderr
        assert ran("heddle_assistants.schema", url).stdout == (
            f"The tables are at revision {LATER}.\n"
        )
