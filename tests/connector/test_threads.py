"""The way from an engine's thread to a coroutine."""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing

import pytest
from heddle_connector.sdk.threads import from_thread
from patience import settled

Put = Callable[[int], bool]


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as made:
        yield made


def counting(until: int, seen: list[int]) -> Callable[[Put], None]:
    def work(put: Put) -> None:
        for number in range(until):
            seen.append(number)
            if put(number):
                return

    return work


async def collected(values: AsyncGenerator[list[int], None]) -> list[int]:
    return [value async for batch in values for value in batch]


async def test_everything_arrives_in_order(executor: ThreadPoolExecutor) -> None:
    assert await collected(from_thread(executor, counting(5000, []))) == list(range(5000))


async def test_a_slow_reader_slows_the_engine_down(executor: ThreadPoolExecutor) -> None:
    seen: list[int] = []
    async with aclosing(from_thread(executor, counting(10_000, seen), capacity=10)) as values:
        first = await anext(values)
        assert await settled(lambda: len(seen)) <= len(first) + 12


async def test_an_engine_that_waits_for_room_learns_that_nobody_reads(
    executor: ThreadPoolExecutor,
) -> None:
    seen: list[int] = []
    finished = threading.Event()

    def work(put: Put) -> None:
        counting(10_000, seen)(put)
        finished.set()

    async with aclosing(from_thread(executor, work, capacity=4)) as values:
        await anext(values)
    assert await asyncio.to_thread(finished.wait, 2)
    assert len(seen) < 20


async def test_what_the_engine_raises_comes_after_its_values(executor: ThreadPoolExecutor) -> None:
    def work(put: Put) -> None:
        put(1)
        put(2)
        raise ValueError("broken")

    found: list[int] = []
    with pytest.raises(ValueError, match="broken"):
        async for batch in from_thread(executor, work):
            found += batch
    assert found == [1, 2]


async def test_closing_does_not_wait_for_the_thread(executor: ThreadPoolExecutor) -> None:
    release = threading.Event()

    def work(put: Put) -> None:
        put(1)
        release.wait(30)
        raise ValueError("nobody hears this, and nobody complains")

    begun = time.monotonic()
    async with aclosing(from_thread(executor, work)) as values:
        await anext(values)
    assert time.monotonic() - begun < 5
    release.set()
    await asyncio.to_thread(executor.shutdown)
