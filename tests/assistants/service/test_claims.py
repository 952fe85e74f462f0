"""Claims of work end by the clock of the database, whatever the clocks of the processes show."""

from collections.abc import AsyncIterator

import pytest
from assistants.serving import ADMIN, SERVICE, Service, serving
from heddle.assistant.v1 import following_pb2, following_pb2_grpc, jobs_pb2, jobs_pb2_grpc
from heddle_runtime.storage.database.claims import CLAIM_SECONDS
from heddle_runtime.storage.database.engine import Database, open_database
from sqlalchemy import text

pytestmark = pytest.mark.parametrize("dialect", ["postgresql"])  # SQLite's is the machine's
CLOCK = """
CREATE SCHEMA shifted
CREATE TABLE shifted.clock AS SELECT 0 AS seconds
CREATE FUNCTION shifted.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT \
pg_catalog.clock_timestamp() + make_interval(secs => seconds) FROM shifted.clock'
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = \
shifted, public, pg_catalog', current_database()); END $$
"""


@pytest.fixture
async def shifted(database_url: str) -> AsyncIterator[Database]:
    """A database whose clock `pass_by` sets."""
    async with open_database(database_url) as opened:
        async with opened.writing() as connection:
            for statement in CLOCK.strip().splitlines():
                await connection.execute(text(statement))
        yield opened


async def pass_by(database: Database, seconds: int) -> None:
    async with database.writing() as connection:
        await connection.execute(text("UPDATE shifted.clock SET seconds = :s"), {"s": seconds})


async def follows(service: Service, claimant: str) -> bool:
    caller = service.as_(SERVICE)
    stub = following_pb2_grpc.FollowingServiceStub(caller.connection)
    request = following_pb2.ClaimFollowingRequest(claimant=claimant)
    return (await caller.ask(stub.ClaimFollowing, request)).claimed


async def works(service: Service, claimant: str) -> bool:
    caller = service.as_(SERVICE)
    stub = jobs_pb2_grpc.JobServiceStub(caller.connection)
    request = jobs_pb2.ClaimJobRequest(claimant=claimant)
    return bool((await caller.ask(stub.ClaimJob, request)).job.id)


async def test_another_process_takes_a_claim_when_the_database_says_that_it_has_ended(
    shifted: Database, database_url: str
) -> None:
    # The migration service would claim the job before the test does.
    async with serving(database_url, with_migration=False) as service:
        caller = service.as_(ADMIN)
        stub = jobs_pb2_grpc.JobServiceStub(caller.connection)
        job = jobs_pb2.StartJobRequest(kind=jobs_pb2.JOB_KIND_IMPORT)
        await caller.ask(stub.StartJob, job)
        for claimed in (follows, works):
            await pass_by(shifted, 0)
            assert await claimed(service, "one")
            await pass_by(shifted, CLAIM_SECONDS - 5)
            assert not await claimed(service, "other")
            await pass_by(shifted, CLAIM_SECONDS + 2)
            assert await claimed(service, "other")
