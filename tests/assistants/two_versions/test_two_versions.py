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
from assistants.serving import ADA, ADMIN, SECRET
from assistants.two_versions.earlier import FORMER_REVISION, NEWEST, install
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle.person.v1 import person_pb2
from heddle.person.v1.person_pb2_grpc import PersonServiceStub

pytestmark = pytest.mark.exhaustive
NEWEST_REVISION = NEWEST[1:5]


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The PYTHONPATH of the earlier version."""
    return install(tmp_path_factory.mktemp("earlier"))


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
    postgres_server: Postgres, earlier: str, tmp_path: Path
) -> None:
    with postgres_server.database() as url:
        async with replica(url, tmp_path / "earlier.log", PYTHONPATH=earlier) as old:
            assert ran("heddle_assistants.schema", url).stdout == (
                f"The tables are at revision {FORMER_REVISION}.\n"
            )
            first = await create(old, "first")
            async with (
                calling(old) as numbers,
                replica(url, tmp_path / "newer.log") as new,
            ):
                before = len(numbers)
                assert ran("heddle_assistants.schema", url).stdout == (
                    f"The tables are at revision {NEWEST_REVISION}.\n"
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

        # The earlier version does not start with the newer tables unless they say that it may.
        started = ran("heddle_assistants", url, path=earlier)
        assert started.returncode != 0
        assert "newer Heddle" in started.stdout + started.stderr
        assert NEWEST_REVISION in started.stdout + started.stderr

        taken_back = ran("heddle_assistants.schema", url, "downgrade", FORMER_REVISION)
        assert taken_back.returncode == 0, taken_back.stderr
        async with replica(url, tmp_path / "again.log", PYTHONPATH=earlier) as old:
            for number, name in ((first, "first"), (second, "second"), (third, "third")):
                assert await name_of(old, number) == name
            assert await faults(old) == []


async def test_a_downgrade_that_would_lose_something_names_the_backup(
    postgres_server: Postgres, tmp_path: Path
) -> None:
    with postgres_server.database() as url:
        async with replica(url, tmp_path / "log") as new:
            await create(new, "tutor")
            request = person_pb2.ErasePersonalDataRequest(
                email=ADA.subject,
                organization="uni",
                shared_things=person_pb2.SHARED_THINGS_DELETE,
            )
            stub = PersonServiceStub(new.connection)
            await new.as_(ADMIN).ask(stub.ErasePersonalData, request)
        refused = ran("heddle_assistants.schema", url, "downgrade", FORMER_REVISION)
        assert refused.returncode == 1
        assert "persons were erased since the upgrade" in refused.stderr
        assert "restore the backup from before the upgrade" in refused.stderr
        assert ran("heddle_assistants.schema", url).stdout == (
            f"The tables are at revision {NEWEST_REVISION}.\n"
        )
