"""`UsageService.SummarizeUsage`: usage by day, assistant and model."""

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from assistants.service.test_usage import MINI, PRICES, entry, write
from assistants.serving import ADA, ADMIN, SERVICE, Caller, Service, serving
from assistants.stored import keep, keep_organization
from heddle.usage.v1 import usage_pb2 as pb
from heddle_assistants.database.schema import daily_usage, organizations
from heddle_assistants.usage.days import DailyUsage
from heddle_assistants.usage.entries import COUNTS
from heddle_runtime.errors import InvalidRequestError
from heddle_runtime.identity.callers import Identity
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import func, insert, select, update

DAY, ASSISTANT, MODEL, ORGANIZATION = pb.UsageDimension.values()[1:]
OTHER = ("ollama", "local")
AMOUNTS = (*COUNTS, "unpriced_tokens", "cost_picos")
CHAIR = Identity("chair@uni.example", "uni", ("organization_admin",))


@pytest.fixture
async def priced(database_url: str, tmp_path: Path) -> AsyncIterator[Service]:
    """A service that knows prices."""
    write(tmp_path / "prices.json", PRICES)
    async with serving(database_url, prices=tmp_path / "prices.json") as running:
        yield running


async def summary(caller: Caller, *by: int, **fields: Any) -> pb.SummarizeUsageResponse:
    request = pb.SummarizeUsageRequest(by=by, **fields)  # type: ignore[arg-type] # dimensions
    return await caller.ask(caller.usage.SummarizeUsage, request)


async def test_usage_is_split_by_day_assistant_and_model(
    priced: Service, database: Database
) -> None:
    one, other = await keep(database), await keep(database, name="b")
    elsewhere = await keep(database, organization="college", owner="eve@college.example")
    recorder = priced.as_(SERVICE)
    used: dict[str, Any] = {"prompt_tokens": 1_000_000, "completion_tokens": 10}
    entries = [
        entry(1, one, **used),
        entry(2, one, OTHER, **used),
        entry(3, other, **used),
        entry(4, elsewhere, **used),
    ]
    await recorder.consume("r", entries)
    await recorder.consume("r", entries)  # a repetition
    await recorder.consume("r", [entry(5, one, **used)])
    ada = priced.as_(ADA)
    today = datetime.now(UTC).date().isoformat()

    whole = await summary(ada, DAY, ASSISTANT, MODEL)
    rows = [
        (s.day, s.assistant_id, s.model.model, s.counts.requests, s.unpriced_tokens, s.cost_micros)
        for s in whole.sums
    ]
    assert rows == [
        (today, one, "local", 1, 1_000_010, 0),
        (today, one, "gpt-4o-mini", 2, 0, 300_012),
        (today, other, "gpt-4o-mini", 1, 0, 150_006),
    ]
    assert whole.last_day == today
    assert whole.sums[0].assistant_name == "1_tutor"
    [total] = (await summary(ada)).sums
    assert (total.counts.requests, total.day, total.HasField("model")) == (4, "", False)
    slugs = [each.organization for each in (await summary(priced.as_(ADMIN), ORGANIZATION)).sums]
    assert slugs == ["college", "uni"]
    [chairs] = (await summary(priced.as_(CHAIR), ORGANIZATION)).sums
    assert (chairs.organization, chairs.counts.requests) == ("uni", 4)
    assert not (await summary(priced.as_(Identity("bob@uni.example", "uni", ("creator",))))).sums
    assert not (await summary(ada, organization="college")).sums
    [mine] = (await summary(ada, assistant_id=other)).sums
    assert mine.counts.requests == 1
    both = await summary(ada, ASSISTANT, assistant_ids=[other, one, elsewhere, "none"])
    assert [each.assistant_id for each in both.sums] == [one, other]
    with pytest.raises(InvalidRequestError, match="not valid"):
        await summary(ada, assistant_ids=["1"] * 1001)
    await priced.as_(ADMIN).reset(one)
    assert len((await summary(ada, DAY, ASSISTANT, MODEL)).sums) == 3


async def test_days_are_selected_and_paged(service: Service, database: Database) -> None:
    number = await keep(database)
    values = dict.fromkeys(
        (column.name for column in daily_usage.c if column.type.python_type is int), 1
    )
    days = [{**values, "assistant_id": int(number), "day": day} for day in (0, 100, 101)]
    models = {"connector": MINI[0], "model": MINI[1]}
    async with database.writing() as connection:
        await connection.execute(insert(daily_usage), [each | models for each in days])
    ada = service.as_(ADA)
    period = {"first_day": "1970-01-01", "last_day": "1970-04-12"}
    first = await summary(ada, DAY, page_size=2, **period)
    rest = await summary(ada, DAY, page_size=2, page_token=first.next_page_token, **period)
    sums = [*first.sums, *rest.sums]
    assert [each.day for each in sums] == ["1970-01-01", "1970-04-11", "1970-04-12"]
    assert not rest.next_page_token
    [last] = (await summary(ada, DAY, first_day="1970-04-12", last_day="1970-04-12")).sums
    assert last.day == "1970-04-12"
    assert not (await summary(ada, DAY)).sums
    wrong: list[dict[str, Any]] = [
        {"first_day": "x"},
        {"last_day": "1969-12-31"},
        {"first_day": "1970-01-03", "last_day": "1970-01-02"},
        {"by": [0]},
        {"by": [9]},
    ]
    for fields in wrong:
        with pytest.raises(InvalidRequestError):
            await summary(ada, *fields.pop("by", ()), **fields)


async def test_old_days_are_deleted(service: Service, database: Database) -> None:
    number = await keep(database)
    await service.as_(SERVICE).consume("r", [entry(1, number), entry(2, number, OTHER)])
    today = int(time.time()) // 86_400
    async with database.writing() as connection:
        old = update(daily_usage).where(daily_usage.c.model == "local")
        await connection.execute(old.values(day=today - 8))
    query = select(func.count()).select_from(daily_usage)
    for days, left in ((8, 2), (7, 1)):
        await DailyUsage(database, days).expire()
        async with database.reading() as connection:
            assert await connection.scalar(query) == left


async def test_old_days_are_deleted_for_organisations_that_want_it(
    database: Database,
) -> None:
    today = int(time.time()) // 86_400
    for slug in ("uni", "college"):
        number = int(await keep(database, organization=slug))
        day = {"assistant_id": number, "organization_id": await keep_organization(database, slug)}
        async with database.writing() as connection:
            names = {"connector": "a", "model": "b", **dict.fromkeys(AMOUNTS, 1)}
            rows = [{"day": today - age, **names, **day} for age in (7, 8, 30)]
            await connection.execute(insert(daily_usage), rows)
    config = '{"retention": {"usage_days": 7}}'
    async with database.writing() as connection:
        uni = update(organizations).where(organizations.c.slug == "uni")
        await connection.execute(uni.values(config=config))

    await asyncio.gather(*(DailyUsage(database, 20).expire() for _ in range(2)))
    query = (
        select(organizations.c.slug, daily_usage.c.day)
        .join(organizations, organizations.c.id == daily_usage.c.organization_id)
        .order_by(organizations.c.slug, daily_usage.c.day)
    )
    async with database.reading() as connection:
        left = [tuple(row) for row in await connection.execute(query)]
    assert left == [("college", today - 8), ("college", today - 7), ("uni", today - 7)]
