"""The moment before a deadline at which work of an engine ends."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest
from heddle_connector.sdk import TimeLimit


async def endless() -> AsyncGenerator[int]:
    number = 0
    while True:
        yield number
        number += 1
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(("seconds", "until"), [(5, 4.0), (10, 8.0), (120, 118.0)])
async def test_a_fifth_of_the_time_and_at_most_two_seconds_are_left(
    seconds: float, until: float
) -> None:
    limit = TimeLimit(seconds)

    assert limit.seconds == until
    assert until - 0.5 < limit.left <= until


async def test_values_end_at_the_limit() -> None:
    limit = TimeLimit(0.25)
    async with aclosing(limit.bounded(endless())) as values:
        numbers = [number async for number in values]

    assert numbers == list(range(len(numbers)))
    assert 1 < len(numbers) <= 20
    assert limit.expired


async def test_values_that_end_earlier_are_not_cut_off() -> None:
    async def two() -> AsyncGenerator[int]:
        yield 1
        yield 2

    limit = TimeLimit(float("inf"))
    assert [number async for number in limit.bounded(two())] == [1, 2]
    assert not limit.expired


async def test_a_result_that_comes_too_late_is_cancelled() -> None:
    limit = TimeLimit(0.01)
    waiting = asyncio.ensure_future(asyncio.sleep(60))

    with pytest.raises(TimeoutError):
        await limit.wait(waiting)

    assert waiting.cancelled()
