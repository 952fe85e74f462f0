"""A worker process that is needed now and then ends, and is there again when it is asked."""

import asyncio
from contextlib import suppress

import psutil
from heddle_knowledge.reading.parsing import ParseReply, ParseRequest
from heddle_knowledge.workers.idle_worker import IdleWorker
from heddle_knowledge.workers.worker import WorkerProcess

MODULE = "heddle_knowledge.reading.worker"
REQUEST = ParseRequest(b"warp and weft", "text/plain", "a.txt")


def made() -> WorkerProcess:
    return WorkerProcess(MODULE, seconds=60)


def workers() -> list[psutil.Process]:
    found = []
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):  # it may end while it is looked at
            if child.status() != psutil.STATUS_ZOMBIE and MODULE in child.cmdline():
                found.append(child)
    return found


async def cut(worker: IdleWorker) -> list[str]:
    reply = await worker.call(REQUEST, ParseReply, failed=AssertionError("it failed"))
    return [chunk.text for chunk in reply.chunks]


async def test_it_ends_when_nobody_asks_and_starts_again() -> None:
    worker = IdleWorker(made, idle=2.0)
    for _ in range(2):
        assert await cut(worker) == ["warp and weft"]
        assert len(workers()) == 1
        async with asyncio.timeout(30):
            while workers():
                await asyncio.sleep(0.02)
    await worker.aclose()


async def test_it_does_not_end_while_it_is_asked() -> None:
    worker = IdleWorker(made, idle=2.0)
    assert await cut(worker) == ["warp and weft"]
    first = workers()
    texts = await asyncio.gather(*(cut(worker) for _ in range(2)))
    assert texts == [["warp and weft"]] * 2
    assert workers() == first
    await worker.aclose()
    assert workers() == []
