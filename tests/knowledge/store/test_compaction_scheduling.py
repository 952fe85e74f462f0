"""When a collection is put in order."""

import asyncio

import pytest
from heddle_knowledge.compaction.scheduling import MOST_COMMITS, MOST_ROWS, Maintenance

NEVER = 1e6


class Compaction:
    """Counts how often it is asked, and takes its time if it is told to."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.free = asyncio.Event()
        self.free.set()

    async def tidy(self, collection: str) -> None:
        self.asked.append(collection)
        await self.free.wait()


async def settle() -> None:
    """Let all tasks get as far as they get."""
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("commits", "rows"), [(MOST_COMMITS, 1), (2, MOST_ROWS // 2), (1, MOST_ROWS)]
)
async def test_it_begins_with_so_many_commits_or_rows_and_not_one_earlier(
    commits: int, rows: int
) -> None:
    compaction = Compaction()
    maintenance = Maintenance(compaction.tidy, quiet_seconds=NEVER)
    for _ in range(commits - 1):
        maintenance.committed("a", rows)
    maintenance.committed("b", rows - 1)
    await settle()
    assert compaction.asked == []
    maintenance.committed("a", rows)
    await settle()
    assert compaction.asked == ["a"]
    await maintenance.aclose()


async def test_what_is_written_meanwhile_is_seen_to_after_it() -> None:
    compaction = Compaction()
    compaction.free.clear()
    maintenance = Maintenance(compaction.tidy, quiet_seconds=NEVER)
    maintenance.committed("a", MOST_ROWS)
    await settle()
    for _ in range(3):
        maintenance.committed("a", MOST_ROWS)
    await settle()
    assert compaction.asked == ["a"]
    compaction.free.set()
    await settle()
    assert compaction.asked == ["a", "a"]
    await maintenance.aclose()


async def test_it_begins_when_a_collection_has_been_quiet() -> None:
    compaction = Compaction()
    maintenance = Maintenance(compaction.tidy, quiet_seconds=0.01)
    maintenance.committed("a", 1)
    async with asyncio.timeout(30):
        while not compaction.asked:
            await asyncio.sleep(0.01)
    await settle()
    maintenance.committed("a", 1)
    async with asyncio.timeout(30):
        while compaction.asked != ["a", "a"]:
            await asyncio.sleep(0.01)
    await maintenance.aclose()
