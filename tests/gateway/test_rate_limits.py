"""Requests a minute and concurrent requests, of a key and of an organisation."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
from gateway.conftest import Start
from gateway.neighbours import DONE, HELLO, text
from heddle_gateway.auth.rate_limits import Limits, RateLimits
from heddle_runtime.errors import ResourceExhaustedError

KEYS = {"a-key-of-sixteen-1": "uni", "a-key-of-sixteen-2": "uni", "a-key-of-sixteen-3": "college"}
FIRST, SECOND, OTHER = ({"authorization": f"Bearer {key}"} for key in KEYS)


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """A file with two keys of an organisation and one of another."""
    file = tmp_path / "keys.yaml"
    owners = (f"{key}: {{subject: {key}, organization: {org}}}\n" for key, org in KEYS.items())
    file.write_text("".join(owners))
    return file


def check_refusal(response: httpx.Response) -> None:
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (429, "rate_limit_exceeded")
    assert error.keys() == {"message", "type", "param", "code", "documentation_url"}
    assert int(response.headers["retry-after"]) >= 1


@pytest.mark.parametrize("stream", [False, True])
async def test_a_key_may_send_its_requests_of_a_minute_and_no_more(
    start: Start, keys: Path, stream: bool
) -> None:
    limit = {"key_requests_per_minute": 3}
    async with start(api_keys=keys, **limit) as both, both.of_one_gateway() as bench:
        statuses = [(await bench.chat(FIRST, stream=stream)).status_code for _ in range(3)]
        assert statuses == [200] * 3
        check_refusal(await bench.chat(FIRST, stream=stream))
        check_refusal(await bench.client.get("/v1/models", headers=FIRST))
        assert (await bench.chat(SECOND, stream=stream)).status_code == 200
        assert (await bench.client.get("/health", headers=FIRST)).status_code == 200


async def test_the_keys_of_an_organisation_share_its_limit(start: Start, keys: Path) -> None:
    limit = {"organization_requests_per_minute": 3}
    async with start(api_keys=keys, **limit) as both, both.of_one_gateway() as bench:
        for headers in (FIRST, SECOND, FIRST):
            assert (await bench.chat(headers)).status_code == 200
        check_refusal(await bench.chat(SECOND))
        assert (await bench.chat(OTHER)).status_code == 200


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("limit", ["key_concurrent_requests", "organization_concurrent_requests"])
async def test_concurrent_requests_end_with_their_responses(
    start: Start, keys: Path, limit: str, stream: bool
) -> None:
    settings: dict[str, Any] = {"api_keys": keys, limit: 2}
    async with start(**settings) as both, both.of_one_gateway() as bench:
        bench.orchestrator.script = [[text("a")], 1.0, [DONE]]
        responses = await asyncio.gather(*(bench.chat(FIRST, stream=stream) for _ in range(3)))
        assert sorted(each.status_code for each in responses) == [200, 200, 429]
        check_refusal(next(each for each in responses if each.status_code != 200))
        bench.orchestrator.script = HELLO
        for _ in range(3):
            assert (await bench.chat(FIRST, stream=stream)).status_code == 200


def test_a_bucket_is_refilled_continuously() -> None:
    now = 0.0
    limits = RateLimits(Limits(requests_per_minute=6), Limits(), lambda: now)
    for _ in range(6):
        limits.admit("k", "o").end()
    with pytest.raises(ResourceExhaustedError) as caught:
        limits.admit("k", "o")
    assert caught.value.retry_after == pytest.approx(10)
    now = 10.1
    limits.admit("k", "o").end()
    with pytest.raises(ResourceExhaustedError):
        limits.admit("k", "o")
    now = 1_000.0
    for _ in range(6):
        limits.admit("k", "o").end()
    with pytest.raises(ResourceExhaustedError):
        limits.admit("k", "o")


def test_a_refused_request_costs_the_key_nothing() -> None:
    limits = RateLimits(Limits(requests_per_minute=2), Limits(concurrent_requests=1), lambda: 0.0)
    running = limits.admit("k", "o")
    for _ in range(5):
        with pytest.raises(ResourceExhaustedError, match="Your organisation"):
            limits.admit("k", "o")
    running.end()
    limits.admit("k", "o").end()
