"""kill -9 of either service in the middle of a batch job: no row is half migrated."""

import asyncio
import json
import random
from pathlib import Path

import grpc
import pytest
from assistants.replicas import Process, Replica, replica
from assistants.serving import ADMIN
from assistants.stored import TEXT, everything, keep_many
from heddle.assistant.v1.jobs_pb2 import JOB_KIND_SWEEP
from heddle.migration.v1 import migration_pb2 as pb
from heddle_runtime.storage.database.engine import Database
from runtime.examples import repetitions

ROWS = 10_000
KILLS = max(2, repetitions(5))


async def killed(service: Replica, victim: Process, responses: int, seconds: float) -> int:
    """Kill a service some time into a sweep; return how many changes it had told of."""
    admin = service.as_(ADMIN)
    request = pb.RunMigrationRequest(kind=JOB_KIND_SWEEP)
    told = 0
    with pytest.raises(grpc.aio.AioRpcError):
        call = admin.migrations.RunMigration(request, timeout=60, metadata=admin.metadata())
        async for response in call:
            told = response.progress.changed
            responses -= 1
            if responses == 0:
                await asyncio.sleep(seconds)
                service.kill(victim)
    return told


async def new_rows(database: Database) -> int:
    """Return how many rows are migrated, after looking whether each is old or new as a whole."""
    found = await everything(database)
    beside = {each.assistant_id: each for each in found[ROWS:]}
    for row in found[:ROWS]:
        if row.id not in beside:
            assert (row.metadata, row.revision) == (TEXT, 1)
            continue
        original = beside[row.id]
        assert (original.metadata, original.migrated, row.revision) == (TEXT, row.metadata, 2)
        assert json.loads(row.metadata)["_format_version"] == 2
    return len(beside)


@pytest.mark.exhaustive
@pytest.mark.timeout(300)
async def test_a_sweep_that_is_killed_leaves_old_or_new_and_goes_on(
    database_url: str, database: Database, tmp_path: Path
) -> None:
    await keep_many(database, [{"name": f"a{number}"} for number in range(ROWS)])
    seed = random.randrange(10**6)  # noqa: S311 - a test's dice
    moments = random.Random(seed)  # noqa: S311 - a test's dice
    done = 0
    for attempt in range(KILLS):
        async with replica(database_url, tmp_path / "log") as service:
            victim = service.assistants_process if attempt % 2 else service.migration_process
            told = await killed(service, victim, moments.randint(1, 3), moments.uniform(0, 0.1))
        before, done = done, await new_rows(database)
        assert before + told <= done < ROWS, f"seed {seed}"
    async with replica(database_url, tmp_path / "log") as service:
        *_, last = await service.as_(ADMIN).migrate()
    assert (last.progress.changed, last.progress.unchanged) == (ROWS - done, done)
    assert await new_rows(database) == ROWS
