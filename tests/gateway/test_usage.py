"""`GET /assistants/{id}/usage`, before the real service that keeps the assistants."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from gateway.library import METADATA, Library, library
from gateway.shelves import ON_SHARED_LOOP
from heddle_assistants.database.schema import daily_usage, usage
from heddle_assistants.usage.days import today
from sqlalchemy import insert

COUNTS: dict[str, Any] = {
    "requests": 3,
    "usage_unknown": 1,
    "prompt_tokens": 100,
    "cached_tokens": 40,
    "completion_tokens": 7,
    "unpriced_tokens": 0,
}
MODEL = {"connector": "openai", "model": "gpt-4o-mini"}


@pytest.fixture
async def shelf(tmp_path: Path) -> AsyncIterator[Library]:
    """A gateway with its defaults."""
    async with library(tmp_path) as running:
        yield running


async def consume(shelf: Library, number: int, picos: int) -> None:
    """Keep what an assistant consumed."""
    values = {"assistant_id": number, **MODEL, **COUNTS, "cost_picos": picos}
    async with shelf.database.writing() as connection:
        await connection.execute(insert(usage).values(values))


async def test_an_assistants_usage_is_told_in_dollars(shelf: Library) -> None:
    number = await shelf.legacy()
    empty = (await shelf["ana"].get(f"/assistants/{number}/usage")).json()
    quota = {"limit_usd": 5.0, "spent_usd": 0, "exceeded": False, "priced": False, "problem": None}
    assert empty == {"assistant_id": str(number), "cost_usd": 0, "quota": quota, "models": []}

    await consume(shelf, number, 5_000_001 * 1_000_000)

    told = (await shelf["ana"].get(f"/assistants/{number}/usage")).json()
    assert told["models"] == [{**MODEL, **COUNTS, "cost_usd": 5.000001}]
    assert told["cost_usd"] == 5.000001
    assert told["quota"] == {**quota, "spent_usd": 5.000001, "exceeded": True}


@pytest.mark.parametrize(
    ("limit", "told"),
    [(-1, 0), ("2.5", 2.5), (10**30, 1e9), (None, None)],
    ids=["negative", "text", "absurd", "none"],
)
@ON_SHARED_LOOP
async def test_a_limit_is_told_as_it_is_understood(
    shared_shelf: Library, limit: object, told: float | None
) -> None:
    metadata = METADATA | {"quota": {"enabled": True, "cost_limit_usd": limit}}
    number = await shared_shelf.legacy(metadata=json.dumps(metadata))
    quota = (await shared_shelf["ana"].get(f"/assistants/{number}/usage")).json()["quota"]
    assert (quota and quota["limit_usd"]) == told
    assert not (quota and quota["problem"])


async def test_a_limit_that_cannot_be_read_is_told(shelf: Library) -> None:
    metadata = METADATA | {"quota": {"enabled": True, "cost_limit_usd": "five"}}
    number = await shelf.legacy(metadata=json.dumps(metadata))
    quota = (await shelf["ana"].get(f"/assistants/{number}/usage")).json()["quota"]
    assert (quota["limit_usd"], quota["exceeded"]) == (0, True)
    assert "cost_limit_usd is not an amount" in quota["problem"]


async def test_what_others_may_not_see_is_not_there(shelf: Library) -> None:
    number = await shelf.legacy(published=True)
    statuses = {
        who: (await shelf[who].get(f"/assistants/{number}/usage")).status_code
        for who in ("ana", "ben", "head", "eve", "root")
    }
    assert statuses == {"ana": 200, "ben": 404, "head": 200, "eve": 404, "root": 200}
    hidden = (await shelf["eve"].get(f"/assistants/{number}/usage")).json()
    missing = (await shelf["eve"].get("/assistants/987654/usage")).json()
    assert hidden["error"]["message"].replace(str(number), "987654") == missing["error"]["message"]


async def test_an_administrator_changes_a_limit_in_lambs_editor_and_loses_nothing(
    shelf: Library,
) -> None:
    quota = {"enabled": True, "cost_limit_usd": 5.0, "period": "month", "note": {"by": "ana"}}
    number = await shelf.legacy(metadata=json.dumps(METADATA | {"quota": quota}))
    path = "/creator/assistant"
    shown = (await shelf["ana"].get(f"{path}/get_assistant/{number}")).json()
    metadata = json.loads(shown["metadata"])
    metadata["quota"]["cost_limit_usd"] = 7.25

    body = {"metadata": json.dumps(metadata)}
    refused = await shelf["ana"].put(f"{path}/update_assistant/{number}", json=body)
    assert refused.status_code == 403, refused.text
    saved = await shelf["head"].put(f"{path}/update_assistant/{number}", json=body)

    assert saved.status_code == 200, saved.text
    kept = (await shelf["ana"].get(f"/assistants/{number}")).json()
    assert kept["extra"]["quota"] == {**quota, "cost_limit_usd": 7.25}
    used = (await shelf["ana"].get(f"/assistants/{number}/usage")).json()
    assert used["quota"]["limit_usd"] == 7.25


async def test_usage_is_summed_up_and_unpriced_tokens_cost_nothing_known(shelf: Library) -> None:
    number = await shelf.legacy()
    counts = {**COUNTS, "unpriced_tokens": 107, "cost_picos": 0}
    row = {"assistant_id": number, **MODEL, **counts, "day": today(), "organization_id": 1}
    async with shelf.database.writing() as connection:
        await connection.execute(insert(daily_usage).values(row))
    params = {"by": "assistant,model,day"}
    summary = (await shelf["ana"].get("/usage", params=params)).json()
    day = summary["last_day"]
    assert summary["sums"] == [
        {
            **MODEL,
            **COUNTS,
            "unpriced_tokens": 107,
            "cost_usd": None,
            "day": day,
            "assistant_id": str(number),
            "assistant_name": "7_tutor",
            "organization": None,
        }
    ]
    assert (await shelf["ben"].get("/usage", params=params)).json()["sums"] == []
    named = (
        await shelf["ana"].get("/usage", params={**params, "assistant": f"1, {number}"})
    ).json()
    assert named["sums"] == summary["sums"]
    other = (await shelf["ana"].get("/usage", params={**params, "assistant": "987654"})).json()
    assert other["sums"] == []
    earlier = {**params, "from": "2020-01-01", "to": "2020-01-02"}
    assert (await shelf["ana"].get("/usage", params=earlier)).json()["sums"] == []
    for wrong in ({"by": "moon"}, {"from": "yesterday"}, {"to": "2020-13-01"}):
        response = await shelf["ana"].get("/usage", params=wrong)
        assert response.status_code == 400
        assert response.json()["error"]["param"]


async def test_an_administrator_resets_the_usage(shelf: Library) -> None:
    number = await shelf.legacy()
    await consume(shelf, number, 5)
    path = f"/assistants/{number}/usage/reset"
    assert (await shelf["ana"].post(path)).status_code == 404
    response = await shelf["head"].post(path)
    assert (response.status_code, response.json()["models"]) == (200, [])
