"""Kill -9 of either service in the middle of an import, and imports beside each other."""

import asyncio
import random
from pathlib import Path

import grpc
import pytest
from assistants.replicas import Process, Replica, replica
from assistants.serving import ADMIN
from heddle.assistant.v1.jobs_pb2 import JOB_KIND_IMPORT
from heddle.migration.v1 import migration_pb2 as pb
from heddle_assistants.database.schema import assistants
from heddle_runtime.storage.database.engine import Database
from migration.lamb.lamb_database import Lamb, filled
from migration.lamb.running import rows, run
from runtime.examples import repetitions

ROWS = 6_000


def large(path: Path) -> Lamb:
    many = ({"id": 1000 + n, "name": f"n{n}", "api_callback": f"{n}"} for n in range(ROWS))
    return filled(path).add("assistants", *many)


async def interrupted(service: Replica, victim: Process, responses: int) -> int:
    """Kill a service some time into an import; return how many assistants were acknowledged."""
    admin = service.as_(ADMIN)
    acknowledged = 0
    call = admin.migrations.RunMigration(
        pb.RunMigrationRequest(kind=JOB_KIND_IMPORT), timeout=60, metadata=admin.metadata()
    )
    with pytest.raises(grpc.aio.AioRpcError):
        async for response in call:
            if response.table == "assistants" and response.progress.changed:
                acknowledged = response.progress.changed
                responses -= 1
                if responses == 0:
                    service.kill(victim)
    return acknowledged


@pytest.mark.exhaustive
@pytest.mark.timeout(300)
async def test_an_interrupted_import_continues_where_it_was(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    lamb = large(tmp_path / "lamb_v4.db")
    seed = random.randrange(10**6)  # noqa: S311 (a test's dice)
    moments = random.Random(seed)  # noqa: S311 (a test's dice)
    settings = {"HEDDLE_MIGRATION_LAMB_DATABASE": str(lamb.path)}
    done = 0
    for attempt in range(max(2, repetitions(4))):
        async with replica(database_url, tmp_path / "log", **settings) as service:
            victim = service.assistants_process if attempt % 2 else service.migration_process
            acknowledged = done + await interrupted(service, victim, moments.randrange(1, 3))
        done = len(await rows(database, assistants))
        assert done >= acknowledged, f"seed {seed}"
    assert 0 < done < ROWS, f"seed {seed}"

    report = await run(lamb, database)

    total, changed, unchanged, refused = report.counts["assistants"]
    assert (changed, unchanged, refused) == (total - done, done, 0)
    found = await rows(database, assistants)
    assert len(found) == total
    assert all(found[1000 + n]["metadata"] == f"{n}" for n in range(ROWS))


@pytest.mark.exhaustive
@pytest.mark.timeout(300)
async def test_two_imports_at_once_import_everything_once(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    lamb = large(tmp_path / "lamb_v4.db")
    settings = {"HEDDLE_MIGRATION_LAMB_DATABASE": str(lamb.path)}

    async def imported(service: Replica) -> int:
        admin = service.as_(ADMIN)
        responses = await admin.all_of(
            admin.migrations.RunMigration, pb.RunMigrationRequest(kind=JOB_KIND_IMPORT)
        )
        return max(each.progress.changed for each in responses if each.table == "assistants")

    log = tmp_path / "log"
    async with (
        replica(database_url, log, **settings) as one,
        replica(database_url, log, **settings) as other,
    ):
        changed = sum(await asyncio.gather(imported(one), imported(other)))

    found = await rows(database, assistants)
    assert changed == len(found)
    assert len(found) > ROWS
