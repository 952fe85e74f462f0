"""When a collection is put in order."""

import asyncio

import pytest
from heddle_knowledge.engines.maintenance import MAX_COMMITS, MAX_ROWS, Maintenance

NEVER = 1e6


class Optimizer:
    """Counts how often it is asked, and takes its time if it is told to."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.free = asyncio.Event()
        self.free.set()

    async def optimize(self, collection: str) -> None:
        self.asked.append(collection)
        await self.free.wait()


async def settle() -> None:
    """Let all tasks get as far as they get."""
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.mark.parametrize(("commits", "rows"), [(MAX_COMMITS, 1), (2, MAX_ROWS // 2), (1, MAX_ROWS)])
async def test_it_begins_with_so_many_commits_or_rows_and_not_one_earlier(
    commits: int, rows: int
) -> None:
    optimizer = Optimizer()
    maintenance = Maintenance(optimizer.optimize, quiet_seconds=NEVER, settle_seconds=NEVER)
    for _ in range(commits - 1):
        maintenance.committed("a", rows)
    maintenance.committed("b", rows - 1)
    await settle()
    assert optimizer.asked == []
    maintenance.committed("a", rows)
    await settle()
    assert optimizer.asked == ["a"]
    await maintenance.aclose()


async def test_what_is_written_meanwhile_is_seen_to_after_it() -> None:
    optimizer = Optimizer()
    optimizer.free.clear()
    maintenance = Maintenance(optimizer.optimize, quiet_seconds=NEVER, settle_seconds=NEVER)
    maintenance.committed("a", MAX_ROWS)
    await settle()
    for _ in range(3):
        maintenance.committed("a", MAX_ROWS)
    await settle()
    assert optimizer.asked == ["a"]
    optimizer.free.set()
    await settle()
    assert optimizer.asked == ["a", "a"]
    await maintenance.aclose()


async def test_it_begins_when_a_collection_has_been_quiet() -> None:
    optimizer = Optimizer()
    maintenance = Maintenance(optimizer.optimize, quiet_seconds=0.01, settle_seconds=NEVER)
    maintenance.committed("a", 1)
    async with asyncio.timeout(30):
        while not optimizer.asked:
            await asyncio.sleep(0.01)
    await settle()
    maintenance.committed("a", 1)
    async with asyncio.timeout(30):
        while optimizer.asked != ["a", "a"]:
            await asyncio.sleep(0.01)
    await maintenance.aclose()


async def runs(optimizer: Optimizer, times: int) -> None:
    async with asyncio.timeout(30):
        while len(optimizer.asked) < times:
            await asyncio.sleep(0.01)


async def test_it_runs_once_more_when_readers_have_settled() -> None:
    optimizer = Optimizer()
    maintenance = Maintenance(optimizer.optimize, quiet_seconds=0.01, settle_seconds=0.1)
    maintenance.committed("a", 1)
    await runs(optimizer, 2)
    await asyncio.sleep(0.3)
    assert optimizer.asked == ["a", "a"]
    maintenance.committed("a", 1)
    await runs(optimizer, 4)
    await maintenance.aclose()


async def test_what_an_earlier_stop_left_undone_is_done_once() -> None:
    optimizer = Optimizer()
    maintenance = Maintenance(optimizer.optimize, quiet_seconds=NEVER, settle_seconds=0.1)
    maintenance.revisit("a")
    maintenance.revisit("a")
    await runs(optimizer, 1)
    await asyncio.sleep(0.3)
    assert optimizer.asked == ["a"]
    await maintenance.aclose()
