"""`heddle_runtime.rpc.ttl_cache`."""

import asyncio

import pytest
from heddle_runtime.errors import DeadlineError
from heddle_runtime.identity.call_metadata import Caller, caller, calling_as
from heddle_runtime.identity.callers import Identity
from heddle_runtime.rpc.ttl_cache import MAX_ENTRIES, TTLCache


class Loader:
    """Answers with a number that grows, or fails; waits until it may."""

    def __init__(self) -> None:
        self.count = 0
        self.failing = False
        self.free = asyncio.Event()
        self.free.set()

    async def __call__(self) -> int:
        self.count += 1
        await self.free.wait()
        if self.failing:
            raise KeyError
        return self.count


async def test_an_answer_is_given_again_until_its_time_is_over() -> None:
    cache: TTLCache[str, int] = TTLCache(0.2)
    load = Loader()
    assert [await cache.get("a", load) for _ in range(3)] == [1, 1, 1]
    assert await cache.get("b", load) == 2
    await asyncio.sleep(0.25)
    assert await cache.get("a", load) == 3


async def test_the_time_begins_with_the_question() -> None:
    cache: TTLCache[str, int] = TTLCache(0.2)
    load = Loader()
    load.free.clear()
    loading = asyncio.create_task(cache.get("a", load))
    await asyncio.sleep(0.25)
    load.free.set()
    assert await loading == 1
    assert await cache.get("a", load) == 2


async def test_many_ask_once() -> None:
    cache: TTLCache[str, int] = TTLCache(60)
    load = Loader()
    values = await asyncio.gather(*(cache.get("a", load) for _ in range(50)))
    assert set(values) == {1}


async def test_a_failure_is_everybodys_who_waits_and_then_forgotten() -> None:
    cache: TTLCache[str, int] = TTLCache(60)
    load = Loader()
    load.failing = True
    values = await asyncio.gather(*(cache.get("a", load) for _ in range(3)), return_exceptions=True)
    assert [type(one) for one in values] == [KeyError] * 3
    assert load.count == 1
    load.failing = False
    assert await cache.get("a", load) == 2


@pytest.mark.parametrize("failing", [True, False])
async def test_one_that_goes_away_takes_no_answer_with_it(failing: bool) -> None:
    cache: TTLCache[str, int] = TTLCache(60)
    load = Loader()
    load.failing = failing
    load.free.clear()
    first, second = [asyncio.create_task(cache.get("a", load)) for _ in range(2)]
    await asyncio.sleep(0.01)
    first.cancel()
    load.free.set()
    await asyncio.wait([first, second])
    assert first.cancelled()
    assert isinstance(second.exception(), KeyError) == failing
    assert load.count == 1


async def test_one_that_cannot_wait_takes_no_answer_with_it() -> None:
    cache: TTLCache[str, int] = TTLCache(60)
    load = Loader()
    load.free.clear()
    patient = asyncio.create_task(cache.get("a", load, 60))
    with pytest.raises(DeadlineError):
        await cache.get("a", load, 0.01)
    load.free.set()
    assert await patient == 1
    assert await cache.get("a", load, 0) == 1


async def test_who_has_large_answers_keeps_fewer() -> None:
    cache: TTLCache[int, int] = TTLCache(60, 2)
    load = Loader()
    for number in (1, 2, 3, 3, 2):
        await cache.get(number, load)
    assert load.count == 3
    await cache.get(1, load)
    assert load.count == 4


async def test_a_flood_of_questions_takes_bounded_memory() -> None:
    cache: TTLCache[int, int] = TTLCache(60)
    load = Loader()
    for number in range(MAX_ENTRIES + 50):
        await cache.get(number, load)
    await cache.get(MAX_ENTRIES + 49, load)
    assert load.count == MAX_ENTRIES + 50
    await cache.get(0, load)  # was forgotten to make room
    assert load.count == MAX_ENTRIES + 51


async def test_a_value_is_loaded_without_the_identity_and_the_grant_of_who_comes_first() -> None:
    cache: TTLCache[str, Caller] = TTLCache(60)

    async def load() -> Caller:
        return caller()

    first = Caller("req_1", Identity("ann", "uni", ("creator",)), grant="g")
    with calling_as(first):
        assert await cache.get("a", load) == Caller("req_1")
        assert caller() == first


async def test_who_changed_settings_gets_no_older_value() -> None:
    cache: TTLCache[str, int] = TTLCache(60)
    load = Loader()
    assert await cache.get("a", load) == 1
    with calling_as(Caller("req_1", fresh=True)):
        assert await cache.get("a", load) == 2
    assert await cache.get("a", load) == 2
