"""`UsageService.ReserveUsage`: quotas hold for answers that run at the same time."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from assistants.replicas import replica
from assistants.serving import ADA, ADMIN, SERVICE, Caller, Service, serving
from assistants.stored import LEGACY, keep
from google.protobuf.duration_pb2 import Duration
from heddle.assistant.v1 import assistant_pb2
from heddle.usage.v1 import usage_pb2 as pb
from heddle_assistants.database.schema import organizations, usage_reservations
from heddle_runtime.errors import (
    InvalidRequestError,
    PermissionDeniedError,
    QuotaExceededError,
    ResourceExhaustedError,
)
from heddle_runtime.identity.callers import ORGANIZATION_ADMIN, Identity
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import update

PRICES = {"openai/m": {"input": 1, "output": 1}}
"""A micro-dollar for a token."""
QUOTA = {"enabled": True, "cost_limit_usd": 0.001}
METADATA = json.dumps({**LEGACY, "quota": QUOTA})
MODEL = assistant_pb2.ModelRef(connector="openai", model="m")


@pytest.fixture
async def priced(database_url: str, tmp_path: Path) -> AsyncIterator[Service]:
    """A service that knows prices."""
    file = tmp_path / "prices.json"
    file.write_text(json.dumps(PRICES))
    async with serving(database_url, prices=file) as running:
        yield running


async def reserve(caller: Caller, number: str, name: str, tokens: int = 100, **more: Any) -> bool:
    """Reserve, and return whether the quota nears its end."""
    fields = {"lifetime": Duration(seconds=60), "model": MODEL, **more}
    request = pb.ReserveUsageRequest(
        reservation_id=name, assistant_id=number, completion_tokens=tokens, **fields
    )
    return (await caller.ask(caller.usage.ReserveUsage, request)).nears_end


async def settle(caller: Caller, entry: int, number: str, name: str, tokens: int) -> None:
    counts = pb.Counts(requests=1, completion_tokens=tokens)
    used = pb.UsageEntry(number=entry, assistant_id=number, model=MODEL, counts=counts)
    request = pb.RecordUsageRequest(recorder="r", entries=[used], settled_reservations=[name])
    await caller.ask(caller.usage.RecordUsage, request)


async def test_parallel_answers_reserve_no_more_than_the_quota(
    priced: Service, database: Database
) -> None:
    number = await keep(database, metadata=METADATA)
    service = priced.as_(SERVICE)
    outcomes = await asyncio.gather(
        *(reserve(service, number, f"r{each}") for each in range(20)), return_exceptions=True
    )
    refused = [each for each in outcomes if isinstance(each, ResourceExhaustedError)]
    # 10 of 100 micro-dollars each fit into 1,000.
    assert (len(refused), outcomes.count(False)) == (10, 10)
    assert all(each.retry_after == 2 for each in refused)


@pytest.mark.parametrize(("tokens", "fits"), [(899, True), (900, True), (901, False)])
async def test_a_reservation_fits_up_to_the_limit(
    priced: Service, database: Database, tokens: int, fits: bool
) -> None:
    number = await keep(database, metadata=METADATA)
    service = priced.as_(SERVICE)
    await reserve(service, number, "first")
    if fits:
        await reserve(service, number, "second", tokens)
    else:
        with pytest.raises(ResourceExhaustedError):
            await reserve(service, number, "second", tokens)


async def test_one_answer_may_begin_whatever_its_estimate_until_nothing_is_left(
    priced: Service, database: Database
) -> None:
    number = await keep(database, metadata=METADATA)
    service = priced.as_(SERVICE)
    await reserve(service, number, "large", 10**12)
    with pytest.raises(ResourceExhaustedError):
        await reserve(service, number, "next", 1)
    await settle(service, 1, number, "large", 999)
    await reserve(service, number, "next")
    await settle(service, 2, number, "next", 1)
    with pytest.raises(QuotaExceededError, match="has spent"):
        await reserve(service, number, "last")


async def test_a_reservation_of_a_dead_process_expires(priced: Service, database: Database) -> None:
    number = await keep(database, metadata=METADATA)
    service = priced.as_(SERVICE)
    await reserve(service, number, "dead", 1_000)
    with pytest.raises(ResourceExhaustedError):
        await reserve(service, number, "next", 1_000)
    async with database.writing() as connection:
        await connection.execute(update(usage_reservations).values(expires_at=1))
    await reserve(service, number, "next", 1_000)


async def test_a_repetition_replaces_its_reservation(priced: Service, database: Database) -> None:
    number = await keep(database, metadata=METADATA)
    service = priced.as_(SERVICE)
    for _ in range(20):
        await reserve(service, number, "same", 900)
    await reserve(service, number, "other", 100)


async def test_without_a_quota_nothing_is_reserved(priced: Service, database: Database) -> None:
    number = await keep(database, metadata=json.dumps(LEGACY))
    service = priced.as_(SERVICE)
    for each in (number, "file", "999"):
        for turn in range(3):
            await reserve(service, each, f"r{turn}", 10**12)


@pytest.mark.parametrize(
    ("fields", "valid"),
    [
        ({"name": "x" * 63}, True),
        ({"name": "x" * 64}, True),
        ({"name": "x" * 65}, False),
        ({"name": ""}, False),
        ({"tokens": 10**12}, True),
        ({"tokens": 10**12 + 1}, False),
        ({"tokens": -1}, False),
        ({"lifetime": Duration(seconds=86_400)}, True),
        ({"lifetime": Duration(seconds=86_401)}, False),
        ({"lifetime": Duration()}, False),
    ],
    ids=repr,
)
async def test_a_reservation_has_limits(
    priced: Service, database: Database, fields: dict[str, Any], valid: bool
) -> None:
    number = await keep(database, metadata=METADATA)
    reserving = reserve(priced.as_(SERVICE), number, **{"name": "r", **fields})
    if valid:
        await reserving
    else:
        with pytest.raises(InvalidRequestError):
            await reserving


async def test_only_services_reserve(priced: Service) -> None:
    with pytest.raises(PermissionDeniedError):
        await reserve(priced.as_(ADA), "1", "r")


@pytest.mark.exhaustive
async def test_replicas_share_reservations(
    database_url: str, database: Database, tmp_path: Path
) -> None:
    number = await keep(database, metadata=METADATA)
    config = json.dumps({"setups": {"default": {"prices": PRICES}}})
    async with database.writing() as connection:
        await connection.execute(update(organizations).values(config=config))
    async with (
        replica(database_url, tmp_path / "a.log") as first,
        replica(database_url, tmp_path / "b.log") as second,
    ):
        outcomes = await asyncio.gather(
            *(
                reserve(each.as_(SERVICE), number, f"{side}{turn}")
                for side, each in (("a", first), ("b", second))
                for turn in range(10)
            ),
            return_exceptions=True,
        )
    refused = [each for each in outcomes if isinstance(each, BaseException)]
    assert [type(each) for each in refused] == [ResourceExhaustedError] * 10


HEAD = Identity("head@uni.example", "uni", (ORGANIZATION_ADMIN,))


async def test_authors_cannot_change_or_remove_a_quota(priced: Service, database: Database) -> None:
    number = await keep(database, metadata=METADATA)
    author = priced.as_(ADA)
    refused: list[object] = [{**QUOTA, "cost_limit_usd": 9}, {**QUOTA, "enabled": False}, [], {}]
    for quota in refused:
        with pytest.raises(PermissionDeniedError, match="Only an administrator"):
            await author.edit(number, metadata_json=json.dumps({"quota": quota}))
        got = await author.get(number)
        got.assistant.extra_json = json.dumps({"quota": quota})
        with pytest.raises(PermissionDeniedError, match="Only an administrator"):
            await author.update(got.assistant, got.etag)
    # What the author's tools leave out, remove or send back stays.
    await author.edit(number, metadata_json='{"quota": null}')
    for extra in ("{}", json.dumps({"quota": QUOTA})):
        got = await author.get(number)
        got.assistant.extra_json = extra
        got.assistant.description += "."
        await author.update(got.assistant, got.etag)
        assert (await author.get(number)).quota.limit_micros == 1_000
    for identity, limit in ((HEAD, 2_000_000), (ADMIN, 3_000_000)):
        raised = json.dumps({"quota": {**QUOTA, "cost_limit_usd": limit / 10**6}})
        await priced.as_(identity).edit(number, metadata_json=raised)
        assert (await author.get(number)).quota.limit_micros == limit


async def test_an_author_may_set_a_quota_where_none_is(priced: Service, database: Database) -> None:
    number = await keep(database, metadata=json.dumps(LEGACY))
    author = priced.as_(ADA)
    await author.edit(number, metadata_json=json.dumps({"quota": QUOTA}))
    assert (await author.get(number)).quota.limit_micros == 1_000
    with pytest.raises(PermissionDeniedError):
        await author.edit(number, metadata_json=json.dumps({"quota": {}}))


async def test_less_than_a_tenth_of_a_quota_is_near_its_end(
    priced: Service, database: Database
) -> None:
    number = await keep(database, metadata=METADATA)
    service = priced.as_(SERVICE)
    for entry, tokens in enumerate((900, 1)):  # of 1,000 micro-dollars
        name = f"r{entry}"
        assert not await reserve(service, number, name)
        await settle(service, entry + 1, number, name, tokens)
    assert await reserve(service, number, "last")
