"""What is acknowledged is on the disk, with all that it rests on: a power cut takes nothing."""

import os
import time
from pathlib import Path

import pytest
from heddle_knowledge.files.durability import Flushes
from heddle_knowledge.store import open_store
from knowledge.store.putting import put

from benchmarks.retrieval.hashing_embedder import HashingEmbedder

State = tuple[int, int]


@pytest.fixture
def flushed(monkeypatch: pytest.MonkeyPatch) -> dict[Path, State]:
    """How each file and folder was when this process put it on the disk last."""
    seen: dict[Path, State] = {}
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        seen[path] = state(path)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    return seen


def state(path: Path) -> State:
    found = path.stat()
    return found.st_mtime_ns, found.st_size


def missing(store: Path, flushed: dict[Path, State]) -> list[Path]:
    """Return the files and folders of all tables that are not on the disk as they are."""
    tables = list(store.glob("*.lance"))
    assert tables
    every = [path for table in tables for path in (table, *table.rglob("*"))]
    return [path for path in every if flushed.get(path) != state(path)]


def aged(path: Path, seconds: float) -> Path:
    timestamp = time.time() - seconds
    os.utime(path, (timestamp, timestamp))
    return path


def test_each_state_of_a_file_is_flushed_once(tmp_path: Path, flushed: dict[Path, State]) -> None:
    flushes = Flushes(tmp_path)
    (tmp_path / "deep" / "er").mkdir(parents=True)
    file = tmp_path / "deep" / "er" / "a"
    file.write_text("warp")

    flushes.flush()
    assert flushed.keys() == {tmp_path.parent, tmp_path, file.parent.parent, file.parent, file}
    flushed.clear()
    flushes.flush()
    assert file not in flushed
    file.write_text("warp and weft")
    flushes.flush()
    assert flushed[file] == state(file)


def test_the_first_time_counts_what_the_system_may_still_hold_back(
    tmp_path: Path, flushed: dict[Path, State]
) -> None:
    for name in ("recent", "old"):
        (tmp_path / name).write_text(name)
    recent, old = aged(tmp_path / "recent", 40), aged(tmp_path / "old", 120)

    Flushes(tmp_path).flush()

    assert recent in flushed
    assert old not in flushed


@pytest.mark.exhaustive
async def test_what_is_acknowledged_rests_on_nothing_that_a_power_cut_takes(
    tmp_path: Path, flushed: dict[Path, State]
) -> None:
    async with open_store(tmp_path, HashingEmbedder(), quiet_seconds=1e6) as store:
        await store.collections.create("docs")
        assert missing(tmp_path, flushed) == []
        await put(store, "a", "warp and weft")
        assert missing(tmp_path, flushed) == []
        await store.tidy("docs")
        assert missing(tmp_path, flushed) == []
        await put(store, "b", "a shed is a gap")
        assert missing(tmp_path, flushed) == []
        await store.documents.delete("docs", "a")
        assert missing(tmp_path, flushed) == []
