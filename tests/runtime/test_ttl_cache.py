"""`heddle_runtime.ttl_cache`."""

import asyncio

import pytest
from heddle_runtime.errors import DeadlineError
from heddle_runtime.ttl_cache import MOST, TTLCache


class Asked:
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
    remembered: TTLCache[str, int] = TTLCache(0.2)
    ask = Asked()
    assert [await remembered.get("a", ask) for _ in range(3)] == [1, 1, 1]
    assert await remembered.get("b", ask) == 2
    await asyncio.sleep(0.25)
    assert await remembered.get("a", ask) == 3


async def test_the_time_begins_with_the_question() -> None:
    remembered: TTLCache[str, int] = TTLCache(0.2)
    ask = Asked()
    ask.free.clear()
    asking = asyncio.create_task(remembered.get("a", ask))
    await asyncio.sleep(0.25)
    ask.free.set()
    assert await asking == 1
    assert await remembered.get("a", ask) == 2


async def test_many_ask_once() -> None:
    remembered: TTLCache[str, int] = TTLCache(60)
    ask = Asked()
    found = await asyncio.gather(*(remembered.get("a", ask) for _ in range(50)))
    assert set(found) == {1}


async def test_a_failure_is_everybodys_who_waits_and_then_forgotten() -> None:
    remembered: TTLCache[str, int] = TTLCache(60)
    ask = Asked()
    ask.failing = True
    found = await asyncio.gather(
        *(remembered.get("a", ask) for _ in range(3)), return_exceptions=True
    )
    assert [type(one) for one in found] == [KeyError] * 3
    assert ask.count == 1
    ask.failing = False
    assert await remembered.get("a", ask) == 2


@pytest.mark.parametrize("failing", [True, False])
async def test_one_that_goes_away_takes_no_answer_with_it(failing: bool) -> None:
    remembered: TTLCache[str, int] = TTLCache(60)
    ask = Asked()
    ask.failing = failing
    ask.free.clear()
    first, second = [asyncio.create_task(remembered.get("a", ask)) for _ in range(2)]
    await asyncio.sleep(0.01)
    first.cancel()
    ask.free.set()
    await asyncio.wait([first, second])
    assert first.cancelled()
    assert isinstance(second.exception(), KeyError) == failing
    assert ask.count == 1


async def test_one_that_cannot_wait_takes_no_answer_with_it() -> None:
    remembered: TTLCache[str, int] = TTLCache(60)
    ask = Asked()
    ask.free.clear()
    patient = asyncio.create_task(remembered.get("a", ask, 60))
    with pytest.raises(DeadlineError):
        await remembered.get("a", ask, 0.01)
    assert remembered.known("a") is None
    ask.free.set()
    assert await patient == remembered.known("a") == 1
    assert await remembered.get("a", ask, 0) == 1


async def test_what_is_known_is_what_would_be_given_again() -> None:
    remembered: TTLCache[str, int] = TTLCache(0.2)
    ask = Asked()
    assert remembered.known("a") is None
    await remembered.get("a", ask)
    assert remembered.known("a") == 1
    await asyncio.sleep(0.25)
    assert remembered.known("a") is None
    ask.failing = True
    with pytest.raises(KeyError):
        await remembered.get("a", ask)
    assert remembered.known("a") is None


async def test_who_has_large_answers_keeps_fewer() -> None:
    remembered: TTLCache[int, int] = TTLCache(60, 2)
    ask = Asked()
    for number in (1, 2, 3, 3, 2):
        await remembered.get(number, ask)
    assert ask.count == 3
    await remembered.get(1, ask)
    assert ask.count == 4


async def test_a_flood_of_questions_takes_bounded_memory() -> None:
    remembered: TTLCache[int, int] = TTLCache(60)
    ask = Asked()
    for number in range(MOST + 50):
        await remembered.get(number, ask)
    await remembered.get(MOST + 49, ask)
    assert ask.count == MOST + 50
    await remembered.get(0, ask)  # was forgotten to make room
    assert ask.count == MOST + 51
