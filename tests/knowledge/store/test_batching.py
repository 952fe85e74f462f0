"""Concurrent requests share batches, and none fails because of another."""

import asyncio
import gc
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest
from heddle_knowledge.embedders.local_embedders import LocalEmbedder
from heddle_knowledge.errors import StorageError
from heddle_knowledge.ingestion.batching import Batcher, KeyedBatcher
from heddle_knowledge.ingestion.embedding_batches import grouped
from heddle_runtime.serving.fair_slots import Tenant


class Processor:
    """Processes batches when its event is set."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.batches: list[list[str]] = []

    async def process(self, batch: Sequence[str]) -> list[str]:
        self.batches.append(list(batch))
        await self.open.wait()
        if "poison" in batch:
            raise ValueError("poison")
        return [item.upper() for item in batch]


async def settle() -> None:
    """Let all tasks run until they wait."""
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.fixture
def processor() -> Processor:
    return Processor()


@pytest.fixture
def batcher(processor: Processor) -> Batcher[str, str]:
    return Batcher(processor.process, lambda waiting: min(len(waiting), 3))


async def submitted(batcher: Batcher[str, str], *items: str) -> list["asyncio.Task[str]"]:
    tasks = [asyncio.create_task(batcher.submit(item)) for item in items]
    await settle()
    return tasks


async def test_the_first_item_is_processed_at_once_and_later_ones_in_batches(
    processor: Processor, batcher: Batcher[str, str]
) -> None:
    tasks = await submitted(batcher, "a")
    assert processor.batches == [["a"]]
    tasks += await submitted(batcher, *"bcdef")
    processor.open.set()
    assert await asyncio.gather(*tasks) == list("ABCDEF")
    assert processor.batches == [["a"], ["b", "c", "d"], ["e", "f"]]
    assert batcher.idle
    assert await batcher.submit("again") == "AGAIN"


async def test_items_of_a_batch_that_fails_are_processed_one_by_one(
    processor: Processor, batcher: Batcher[str, str]
) -> None:
    tasks = await submitted(batcher, "a", "b", "poison", "c", "d")
    processor.open.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [str(each) for each in results] == ["A", "B", "poison", "C", "D"]
    assert processor.batches == [["a", "b", "poison"], ["a"], ["b"], ["poison"], ["c", "d"]]


async def test_an_item_cancelled_while_it_waits_is_not_processed(
    processor: Processor, batcher: Batcher[str, str]
) -> None:
    tasks = await submitted(batcher, "a", "b", "c", "d", "e")
    tasks[4].cancel()
    await settle()
    assert tasks[4].done()
    processor.open.set()
    assert await asyncio.gather(*tasks[:4]) == list("ABCD")
    assert processor.batches == [["a", "b", "c"], ["d"]]


@pytest.mark.parametrize("uninterruptible", [True, False])
async def test_an_item_cancelled_in_its_batch_does_not_affect_the_others(
    processor: Processor, uninterruptible: bool
) -> None:
    batcher = Batcher(processor.process, len, uninterruptible=uninterruptible)
    tasks = await submitted(batcher, "a", "b")
    tasks[0].cancel()
    await settle()
    assert tasks[0].done() is not uninterruptible
    processor.open.set()
    assert await tasks[1] == "B"
    with pytest.raises(asyncio.CancelledError):
        await tasks[0]


async def test_a_batch_is_formed_under_the_lock_and_its_results_are_returned_after_it() -> None:
    processor, turn, over = Processor(), asyncio.Event(), asyncio.Event()
    processor.open.set()

    @asynccontextmanager
    async def turns() -> AsyncGenerator[None]:
        await turn.wait()
        yield
        await over.wait()

    batcher = Batcher(processor.process, len, lock=turns)
    tasks = [*await submitted(batcher, "a"), *await submitted(batcher, "b")]
    assert processor.batches == []
    turn.set()
    await settle()
    assert processor.batches == [["a", "b"]]
    assert not any(task.done() for task in tasks)
    over.set()
    assert await asyncio.gather(*tasks) == ["A", "B"]


async def test_a_lock_that_fails_fails_all_waiting_requests(processor: Processor) -> None:
    @asynccontextmanager
    async def refused() -> AsyncGenerator[None]:
        raise ValueError("gone")
        yield

    batcher = Batcher(processor.process, len, lock=refused)
    tasks = await submitted(batcher, "a", "b")
    assert [str(each) for each in await asyncio.gather(*tasks, return_exceptions=True)] == [
        "gone",
        "gone",
    ]
    assert processor.batches == []


async def test_several_batches_are_processed_at_once_if_allowed(processor: Processor) -> None:
    batcher = Batcher(processor.process, len, max_batches=2)
    first = await submitted(batcher, "a")
    second = await submitted(batcher, "b")
    third = await submitted(batcher, "c", "d")
    assert processor.batches == [["a"], ["b"]]
    processor.open.set()
    assert await asyncio.gather(*first, *second, *third) == list("ABCD")
    assert processor.batches == [["a"], ["b"], ["c", "d"]]


async def test_organisations_take_turns_in_batches(processor: Processor) -> None:
    batcher = Batcher(processor.process, lambda waiting: min(len(waiting), 1))
    loud, quiet = Tenant("loud", "ann"), Tenant("quiet", "bob")
    processor.open.set()
    submissions = [("a", loud), ("b", loud), ("c", loud), ("d", quiet), ("e", quiet)]
    await asyncio.gather(*(batcher.submit(*each) for each in submissions))
    assert processor.batches == [["a"], ["d"], ["b"], ["e"], ["c"]]


def test_passages_are_embedded_in_small_groups() -> None:
    embedder = LocalEmbedder()
    groups = [*grouped(embedder, ["x" * 1_250, "y" * 1_250, "z" * 9_999, *"abc"])]
    assert [list(map(len, group)) for group in groups] == [[1_250, 1_250], [9_999], [1, 1, 1]]
    assert [*map(len, grouped(embedder, ["x"] * 65))] == [32, 32, 1]
    assert [*grouped(embedder, [])] == []


async def test_closing_fails_unfinished_requests(processor: Processor) -> None:
    batchers: KeyedBatcher[str, str] = KeyedBatcher()
    tasks = [
        asyncio.create_task(
            batchers.submit("k", lambda: Batcher(processor.process, lambda _: 1), item)
        )
        for item in "ab"
    ]
    await settle()
    await batchers.aclose()
    for task in tasks:
        with pytest.raises(StorageError, match="closed"):
            await task
    assert processor.batches == [["a"]]


async def test_keys_do_not_wait_for_each_other(processor: Processor) -> None:
    batchers: KeyedBatcher[str, str] = KeyedBatcher()
    tasks = [
        asyncio.create_task(batchers.submit(key, lambda: Batcher(processor.process, len), key))
        for key in "ab"
    ]
    await settle()
    assert sorted(processor.batches) == [["a"], ["b"]]
    processor.open.set()
    assert await asyncio.gather(*tasks) == ["A", "B"]


async def test_the_failure_of_a_cancelled_request_is_not_logged_as_never_retrieved(
    processor: Processor, batcher: Batcher[str, str]
) -> None:
    loose: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: loose.append(context))
    (task,) = await submitted(batcher, "poison")
    task.cancel()
    await settle()
    processor.open.set()
    await settle()
    del task
    gc.collect()
    assert batcher.idle
    assert loose == []
