"""The process that puts tables in order gives way to all others, and may die."""

import asyncio
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from heddle_knowledge.compaction.scheduling import MOST_COMMITS
from heddle_knowledge.errors import StorageError
from heddle_knowledge.store import KnowledgeStore, open_store
from heddle_knowledge.testing import HashingEmbedder

LOWEST = 19


async def worker(running: "asyncio.Task[None]", after: int = 0) -> psutil.Process:
    """Wait for the process of an upkeep that has made itself polite, and that is another one."""
    async with asyncio.timeout(120):
        while not running.done():
            for child in psutil.Process().children():
                with suppress(psutil.NoSuchProcess):
                    if child.pid != after and child.nice() == LOWEST and is_compaction(child):
                        return child
            await asyncio.sleep(0.001)
    raise AssertionError("the upkeep was over before its process was seen")


def is_compaction(process: psutil.Process) -> bool:
    # Of one that is dying the system may tell no command.
    return any(part.endswith("compaction.worker") for part in process.cmdline())


async def documents(store: KnowledgeStore) -> set[str]:
    found = await store.passages.search("docs", "thread", top_k=1_000, mode="text")
    return {passage.document for passage in found}


@pytest.mark.exhaustive
@pytest.mark.timeout(400)  # three processes of the lowest priority, on a machine that may be busy
async def test_a_death_of_the_upkeep_loses_nothing_and_the_next_one_is_done(tmp_path: Path) -> None:
    async with open_store(tmp_path, HashingEmbedder(), ann_rows=100, quiet_seconds=1e6) as store:
        await store.collections.create("docs")
        names = {f"d{n}" for n in range(MOST_COMMITS - 1)}  # no more, or the upkeep begins itself
        for name in names:
            text = "\n\n".join(f"thread {name} {n} " + "and so on " * 40 for n in range(70))
            async for _ in store.documents.ingest("docs", name, text.encode()):
                pass
        running = asyncio.create_task(store.tidy("docs"))
        first = await worker(running)
        first.kill()
        # It is started again once: whoever kills that one, too, is told.
        (await worker(running, after=first.pid)).kill()
        with pytest.raises(StorageError, match="ended early"):
            await running
        assert not await store.has_vector_index("docs")
        assert await documents(store) == names
        await store.tidy("docs")
        assert await store.has_vector_index("docs")
        assert await documents(store) == names
