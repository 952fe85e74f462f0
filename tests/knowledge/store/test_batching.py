"""Who asks for the same at the same time is served together; nobody pays for another."""

import asyncio
import gc
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest
from heddle_knowledge.errors import StorageError
from heddle_knowledge.ingestion.batching import Groups, Together


class Kitchen:
    """Serves groups, each only once it may."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.served: list[list[str]] = []

    async def serve(self, group: Sequence[str]) -> list[str]:
        self.served.append(list(group))
        await self.open.wait()
        if "poison" in group:
            raise ValueError("poison")
        return [each.upper() for each in group]


async def settle() -> None:
    """Let all tasks get as far as they get."""
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.fixture
def kitchen() -> Kitchen:
    return Kitchen()


@pytest.fixture
def together(kitchen: Kitchen) -> Together[str, str]:
    return Together(kitchen.serve, lambda waiting: min(len(waiting), 3))


async def asked(together: Together[str, str], *items: str) -> list["asyncio.Task[str]"]:
    tasks = [asyncio.create_task(together.ask(item)) for item in items]
    await settle()
    return tasks


async def test_who_comes_alone_is_served_at_once_and_the_others_with_each_other(
    kitchen: Kitchen, together: Together[str, str]
) -> None:
    tasks = await asked(together, "a")
    assert kitchen.served == [["a"]]
    tasks += await asked(together, *"bcdef")
    kitchen.open.set()
    assert await asyncio.gather(*tasks) == list("ABCDEF")
    assert kitchen.served == [["a"], ["b", "c", "d"], ["e", "f"]]
    assert together.idle
    assert await together.ask("again") == "AGAIN"


async def test_a_group_that_fails_is_served_one_by_one(
    kitchen: Kitchen, together: Together[str, str]
) -> None:
    tasks = await asked(together, "a", "b", "poison", "c", "d")
    kitchen.open.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [str(each) for each in results] == ["A", "B", "poison", "C", "D"]
    assert kitchen.served == [["a", "b", "poison"], ["a"], ["b"], ["poison"], ["c", "d"]]


async def test_who_is_cancelled_before_its_turn_is_not_served(
    kitchen: Kitchen, together: Together[str, str]
) -> None:
    tasks = await asked(together, "a", "b", "c", "d", "e")
    tasks[4].cancel()
    await settle()
    assert tasks[4].done()
    kitchen.open.set()
    assert await asyncio.gather(*tasks[:4]) == list("ABCD")
    assert kitchen.served == [["a", "b", "c"], ["d"]]


@pytest.mark.parametrize("binding", [True, False])
async def test_who_is_cancelled_during_its_turn_takes_nothing_from_the_others(
    kitchen: Kitchen, binding: bool
) -> None:
    together = Together(kitchen.serve, len, binding=binding)
    tasks = await asked(together, "a", "b")
    tasks[0].cancel()
    await settle()
    assert tasks[0].done() is not binding
    kitchen.open.set()
    assert await tasks[1] == "B"
    with pytest.raises(asyncio.CancelledError):
        await tasks[0]


async def test_a_group_is_chosen_when_its_turn_comes_and_told_when_that_is_over() -> None:
    kitchen, turn, over = Kitchen(), asyncio.Event(), asyncio.Event()
    kitchen.open.set()

    @asynccontextmanager
    async def turns() -> AsyncGenerator[None]:
        await turn.wait()
        yield
        await over.wait()

    together = Together(kitchen.serve, len, turn=turns)
    tasks = [*await asked(together, "a"), *await asked(together, "b")]
    assert kitchen.served == []
    turn.set()
    await settle()
    assert kitchen.served == [["a", "b"]]
    assert not any(task.done() for task in tasks)
    over.set()
    assert await asyncio.gather(*tasks) == ["A", "B"]


async def test_a_turn_that_is_refused_is_told_to_all_who_wait(kitchen: Kitchen) -> None:
    @asynccontextmanager
    async def refused() -> AsyncGenerator[None]:
        raise ValueError("gone")
        yield

    together = Together(kitchen.serve, len, turn=refused)
    tasks = await asked(together, "a", "b")
    assert [str(each) for each in await asyncio.gather(*tasks, return_exceptions=True)] == [
        "gone",
        "gone",
    ]
    assert kitchen.served == []


async def test_several_groups_are_under_way_if_they_may(kitchen: Kitchen) -> None:
    together = Together(kitchen.serve, len, at_once=2)
    first = await asked(together, "a")
    second = await asked(together, "b")
    third = await asked(together, "c", "d")
    assert kitchen.served == [["a"], ["b"]]
    kitchen.open.set()
    assert await asyncio.gather(*first, *second, *third) == list("ABCD")
    assert kitchen.served == [["a"], ["b"], ["c", "d"]]


async def test_closing_tells_everybody(kitchen: Kitchen) -> None:
    groups: Groups[str, str] = Groups()
    tasks = [
        asyncio.create_task(groups.ask("k", lambda: Together(kitchen.serve, lambda _: 1), item))
        for item in "ab"
    ]
    await settle()
    await groups.aclose()
    for task in tasks:
        with pytest.raises(StorageError, match="closed"):
            await task
    assert kitchen.served == [["a"]]


async def test_things_do_not_wait_for_each_other(kitchen: Kitchen) -> None:
    groups: Groups[str, str] = Groups()
    tasks = [
        asyncio.create_task(groups.ask(key, lambda: Together(kitchen.serve, len), key))
        for key in "ab"
    ]
    await settle()
    assert sorted(kitchen.served) == [["a"], ["b"]]
    kitchen.open.set()
    assert await asyncio.gather(*tasks) == ["A", "B"]


async def test_a_failure_that_nobody_waits_for_any_more_is_no_loose_end(
    kitchen: Kitchen, together: Together[str, str]
) -> None:
    loose: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: loose.append(context))
    (task,) = await asked(together, "poison")
    task.cancel()
    await settle()
    kitchen.open.set()
    await settle()
    del task
    gc.collect()
    assert together.idle
    assert loose == []
