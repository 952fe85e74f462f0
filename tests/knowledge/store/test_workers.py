"""Worker processes and what they leave behind."""

import asyncio
from pathlib import Path

import psutil
import pytest
from heddle_knowledge.errors import StorageError
from heddle_knowledge.reading.parsing import Parser, ParseReply, ParseRequest
from heddle_knowledge.workers.worker import WorkerClosedError, WorkerProcess
from patience import until

_OPEN = Path("/proc/self/fd")
MODULE = "heddle_knowledge.reading.worker"
REQUEST = ParseRequest(b"warp and weft", "text/plain", "a.txt")


def open_files() -> int:
    return len(list(_OPEN.iterdir()))


@pytest.mark.skipif(not _OPEN.exists(), reason="only Linux tells which files are open")
@pytest.mark.parametrize("seconds", [0.0, 0.01, 0.1, 60.0])
async def test_a_worker_that_is_closed_at_any_moment_leaves_no_file_open(seconds: float) -> None:
    await WorkerProcess(MODULE, seconds=60).aclose()
    before = open_files()
    worker = WorkerProcess(MODULE, seconds=60)
    running = asyncio.create_task(worker.call(REQUEST, ParseReply))
    await asyncio.wait([running], timeout=seconds)
    pid = worker.pid
    await worker.aclose()
    (outcome,) = await asyncio.gather(running, return_exceptions=True)
    assert isinstance(outcome, WorkerClosedError | ParseReply)
    assert open_files() <= before  # fewer: the collector has closed one of another test
    assert pid is None or not psutil.pid_exists(pid)


async def test_requests_that_wait_when_the_worker_is_closed_fail() -> None:
    worker = WorkerProcess(MODULE, seconds=60)
    running = [asyncio.create_task(worker.call(REQUEST, ParseReply)) for _ in range(5)]
    await asyncio.sleep(0)
    await worker.aclose()
    outcomes = await asyncio.gather(*running, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [WorkerClosedError] * 5
    with pytest.raises(WorkerClosedError):
        await worker.call(REQUEST, ParseReply)


async def test_an_idle_worker_ends_and_starts_again_with_the_next_request() -> None:
    worker = WorkerProcess(MODULE, seconds=60, idle_seconds=0.05)
    try:
        first = await worker.call(REQUEST, ParseReply)
        await until(lambda: worker.pid is None)
        assert await worker.call(REQUEST, ParseReply) == first
    finally:
        await worker.aclose()


async def test_a_reader_that_cannot_be_loaded_blames_the_installation(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "anydoc.py").write_text("raise ImportError('no wheel for this machine')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    parser = Parser(1)
    try:
        with pytest.raises(StorageError, match=r"installation\. Install the knowledge service"):
            await parser.parse(b"warp", media_type="", name="a.txt")
    finally:
        await parser.aclose()
