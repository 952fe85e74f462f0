"""`heddle_gateway.auth.rate_limits`: how an organisation that sends many requests waits."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable
from pathlib import Path

import httpx
import pytest
from gateway.conftest import Start
from gateway.neighbours import DONE, text
from gateway.test_rate_limits import FIRST, OTHER, SECOND, keys
from heddle_gateway.auth.rate_limits import FairTurns
from heddle_runtime.errors import ResourceExhaustedError
from heddle_runtime.identity.callers import Identity

__all__ = ["keys"]
ANN, BOB = Identity("ann@uni.example", "uni"), Identity("bob@uni.example", "uni")
CAT = Identity("cat@college.example", "college")


async def seconds(awaitable: Awaitable[object]) -> float:
    started = time.monotonic()
    await awaitable
    return time.monotonic() - started


async def test_a_single_organisation_never_waits() -> None:
    turns = FairTurns(1)
    assert [await turns.enter(ANN) for _ in range(50)] == [None] * 50


async def test_an_organisation_is_active_for_a_minute() -> None:
    now = 0.0
    turns = FairTurns(1, lambda: now)
    assert await turns.enter(CAT) is None
    assert await turns.enter(ANN) is not None
    now = 60.1
    assert await turns.enter(BOB) is None


async def test_the_users_of_an_organisation_take_turns() -> None:
    turns = FairTurns(1)
    await turns.enter(CAT)
    await turns.enter(ANN)
    order: list[str] = []

    async def work(identity: Identity) -> None:
        turn = await turns.enter(identity)
        order.append(identity.subject)
        assert turn is not None
        turn.end()

    await asyncio.gather(*map(work, [ANN, ANN, ANN, BOB]))
    assert order == [ANN.subject, BOB.subject, ANN.subject, ANN.subject]


@pytest.mark.parametrize(("starting", "waits"), [(1, True), (2, True), (3, False)])
async def test_an_organisation_starts_so_many_requests_at_the_same_time(
    starting: int, waits: bool
) -> None:
    turns = FairTurns(starting)
    await turns.enter(CAT)
    for _ in range(2):
        await turns.enter(ANN)
    assert (await seconds(turns.enter(ANN)) > 0.1) is waits
    for _ in range(starting - 1):
        await asyncio.wait_for(turns.enter(CAT), 0.1)


async def test_a_request_counts_for_a_tenth_to_a_quarter_of_a_second() -> None:
    turns = FairTurns(1)
    await turns.enter(CAT)
    turn = await turns.enter(ANN)
    assert turn is not None
    turn.end()
    assert 0.09 <= await seconds(turns.enter(ANN)) < 0.25  # the turn that follows does not end
    assert await seconds(turns.enter(ANN)) >= 0.24
    turn.end()  # it has ended already: nothing is released twice
    assert await seconds(turns.enter(ANN)) >= 0.24


@pytest.mark.alone
@pytest.mark.parametrize(("waiting", "refused"), [(999, 0), (1_000, 0), (1_001, 1)])
async def test_a_thousand_requests_of_an_organisation_wait(waiting: int, refused: int) -> None:
    turns = FairTurns(1)
    await turns.enter(CAT)
    await turns.enter(ANN)
    tasks = [asyncio.create_task(turns.enter(ANN)) for _ in range(waiting)]
    for _ in range(3):
        await asyncio.sleep(0)
    failures = [task.exception() for task in tasks if task.done()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert len(failures) == refused
    for failure in failures:
        assert isinstance(failure, ResourceExhaustedError)
        assert failure.retry_after == 5


async def test_a_request_that_waits_too_long_for_its_turn_is_refused() -> None:
    turns = FairTurns(1, max_waiting_seconds=0.05)
    await turns.enter(CAT)
    await turns.enter(ANN)  # counts for 0.25 s, as it does not end
    waiting = [asyncio.create_task(turns.enter(each)) for each in (ANN, BOB)]
    started = time.monotonic()
    for task in waiting:
        with pytest.raises(ResourceExhaustedError) as refused:
            await task
        assert refused.value.retry_after == 5
        assert "Try again in 5 s" in refused.value.message
    assert time.monotonic() - started >= 0.05
    # Those that were refused leave no turn behind that the next one would wait for.
    async with asyncio.timeout(2):
        while True:
            with contextlib.suppress(ResourceExhaustedError):
                await turns.enter(BOB)
                break


@pytest.mark.parametrize("stream", [False, True])
async def test_requests_of_one_organisation_do_not_delay_those_of_another(
    start: Start, keys: Path, stream: bool
) -> None:
    async with start(api_keys=keys, organization_starting_requests=2) as bench:
        bench.orchestrator.script = [[text("a")], [DONE]]

        async def chat(headers: dict[str, str]) -> httpx.Response:
            return await bench.chat(headers, stream=stream)

        await chat(OTHER)
        many = [asyncio.create_task(chat(each)) for each in (FIRST, SECOND) * 20]
        await chat(OTHER)
        assert not all(task.done() for task in many)
        assert [(await task).status_code for task in many] == [200] * 40
