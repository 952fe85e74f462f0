"""Of several migration services, one follows; what it began, another one goes on with."""

import time
from pathlib import Path

import pytest
from assistants.replicas import replica
from assistants.serving import ADA, SERVICE, Service
from heddle.assistant.v1 import following_pb2 as pb
from heddle.assistant.v1 import following_pb2_grpc
from heddle_assistants.database.schema import assistants
from heddle_runtime.errors import ConflictError, PermissionDeniedError
from heddle_runtime.storage.database.engine import Database
from migration.following.following import TUTOR, both_sides, small_lamb
from migration.lamb.running import rows
from runtime.examples import repetitions

ROWS = 4_000


async def claimed(service: Service, claimant: str, *, release: bool = False) -> bool:
    caller = service.as_(SERVICE)
    stub = following_pb2_grpc.FollowingServiceStub(caller.connection)
    request = pb.ClaimFollowingRequest(claimant=claimant, release=release)
    return (await caller.ask(stub.ClaimFollowing, request)).claimed


async def apply_nothing(service: Service, claimant: str) -> None:
    caller = service.as_(SERVICE)
    stub = following_pb2_grpc.FollowingServiceStub(caller.connection)
    request = pb.FollowRowsRequest(
        claimant=claimant, table=pb.FOLLOWED_TABLE_ASSISTANTS, origin="LAMB"
    )
    await caller.ask(stub.FollowRows, request)


async def test_one_process_has_the_claim_until_it_releases_it(service: Service) -> None:
    assert await claimed(service, "one")
    assert not await claimed(service, "other")
    assert await claimed(service, "one")
    assert not await claimed(service, "one", release=True)
    assert await claimed(service, "other")
    assert not await claimed(service, "one")


async def test_a_process_that_lost_the_claim_writes_nothing(service: Service) -> None:
    await claimed(service, "one")
    await apply_nothing(service, "one")
    await claimed(service, "one", release=True)
    await claimed(service, "other")
    with pytest.raises(ConflictError):
        await apply_nothing(service, "one")


async def test_users_cannot_claim(service: Service) -> None:
    caller = service.as_(ADA)
    stub = following_pb2_grpc.FollowingServiceStub(caller.connection)
    with pytest.raises(PermissionDeniedError):
        await caller.ask(stub.ClaimFollowing, pb.ClaimFollowingRequest(claimant="one"))
    with pytest.raises(PermissionDeniedError):
        await caller.ask(stub.GetFollowing, pb.GetFollowingRequest())


@pytest.mark.exhaustive
@pytest.mark.timeout(240)
async def test_a_second_service_follows_when_the_first_is_killed(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    lamb = small_lamb(tmp_path / "lamb_v4.db")
    settings = {"HEDDLE_LAMB_DATABASE": str(lamb.path)}
    with lamb.open() as connection:
        connection.execute("SELECT 1 FROM sqlite_master").fetchall()
        async with (
            replica(database_url, tmp_path / "one", **settings) as one,
            replica(database_url, tmp_path / "other", **settings) as other,
        ):
            sides = both_sides(lamb, database, other)
            await sides.until(lambda rows: 3 in rows)
            logs = [(tmp_path / name).read_text() for name in ("one", "other")]
            assert [log.count("following begins") for log in logs] == [1, 0]
            one.kill(one.migration_process)
            sides.edit("assistants", 3, system_prompt="After the kill.")
            assert await sides.until_column(3, "system_prompt", "After the kill.") < 30
            assert (tmp_path / "other").read_text().count("following begins") == 1


@pytest.mark.exhaustive
@pytest.mark.timeout(300)
async def test_an_interrupted_following_goes_on_and_applies_each_row_once(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    lamb = small_lamb(tmp_path / "lamb_v4.db")
    lamb.add("assistants", *({**TUTOR, "id": 10 + n, "name": f"1_n{n}"} for n in range(ROWS)))
    settings = {"HEDDLE_LAMB_DATABASE": str(lamb.path)}
    counts = []
    for attempt in range(max(2, repetitions(4))):
        async with replica(database_url, tmp_path / "log", **settings) as service:
            before = len(await rows(database, assistants))
            until = time.monotonic() + 60
            while len(await rows(database, assistants)) <= min(before, ROWS):
                assert time.monotonic() < until
            victims = (service.migration_process, service.assistants_process)
            service.kill(victims[attempt % 2])
        counts.append(len(await rows(database, assistants)))
        # The claim of the process that was killed ends by itself.
    assert 0 < counts[0] < ROWS
    async with replica(database_url, tmp_path / "log", **settings) as service:
        sides = both_sides(lamb, database, service)
        await sides.until(lambda records: len(records) == ROWS + 1, seconds=60)
        sides.edit("assistants", 3, system_prompt="The last edit.")
        await sides.until_column(3, "system_prompt", "The last edit.")
        records = await sides.stored()
        status = await sides.status()
    assert {row["revision"] for key, row in records.items() if key != 3} == {1}
    assert records[3]["revision"] == 2
    assert not status.notes
