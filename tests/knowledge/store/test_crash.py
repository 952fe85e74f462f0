"""Kill -9 in the middle of ingestion: what was acknowledged is there and whole, nothing is half."""

import asyncio
import os
import random
import re
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

import psutil
import pytest
from heddle_knowledge.collection.types import CollectionSize
from heddle_knowledge.embedders.embedding import Embedder
from heddle_knowledge.embedders.local_embedders import LocalEmbedder
from knowledge.store.places import Place
from knowledge.store.reading import versions_in
from patience import until

from benchmarks.retrieval.hashing_embedder import HashingEmbedder

SCRIPT = Path(__file__).with_name("ingest_until_killed.py")
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{SCRIPT.parents[2]}:{SCRIPT.parents[3]}"}
READER = Path(__file__).with_name("reading.py")
_ACKNOWLEDGED = re.compile(rb"(d\d+) (\d+)\n")


async def started(place: Place, kind: str, first: int) -> tuple[Process, list[bytes]]:
    """Run the script until its first acknowledgement; return it with what it printed."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(SCRIPT), place.argument, kind, str(first), stdout=PIPE, env=ENVIRONMENT
    )
    assert process.stdout
    return process, [await process.stdout.readline()]


def runs(worker: psutil.Process) -> bool:
    """Say whether an orphan runs; when its remains are cleared away is the system's business."""
    try:
        return worker.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def killed(process: Process, lines: list[bytes]) -> dict[str, int]:
    """Kill the script; return the last acknowledged version of each document."""
    workers = psutil.Process(process.pid).children()
    assert workers
    process.kill()
    assert process.stdout
    lines += (await process.stdout.read()).splitlines(keepends=True)
    await process.wait()
    await until(lambda: not any(runs(worker) for worker in workers), 60)
    told = (_ACKNOWLEDGED.fullmatch(line) for line in lines)  # the last line may be torn
    return {found[1].decode(): int(found[2]) for found in told if found}


async def reopened(
    place: Place, embedder: Embedder, acknowledged: dict[str, int]
) -> dict[str, int]:
    """Open the store again; every list agrees, and nothing acknowledged is older than it was."""
    async with place.store(embedder) as store:
        versions = await versions_in(store)
        documents = {d.name: d.chunks for d in await store.documents.listed("docs")}
        assert documents == {name: 1 + version % 9 for name, version in versions.items()}
        size = CollectionSize(len(documents), sum(documents.values()))
        assert await store.collections.size("docs") == size
    for name, version in acknowledged.items():
        assert versions[name] >= version, (name, acknowledged, versions)
    return versions


async def share_commits(place: Place) -> bool:
    """Say whether documents came in with one commit: then they bear the same stamp."""
    async with place.store(HashingEmbedder()) as store:
        stamps = [document.ingested_at for document in await store.documents.listed("docs")]
    return len(set(stamps)) < len(stamps)


@pytest.mark.exhaustive
@pytest.mark.timeout(400)  # many processes start, on a machine that may be busy
async def test_kills_at_random_moments_lose_nothing_acknowledged(tmp_path: Path) -> None:
    place = Place(str(tmp_path))
    seed = random.randrange(10**6)  # noqa: S311 (a test's dice)
    moments = random.Random(seed)  # noqa: S311 (a test's dice)
    acknowledged: dict[str, int] = {}
    shared = False
    for attempt in range(4):
        process, lines = await started(place, "hashed", 1_000 * attempt)
        await asyncio.sleep(moments.uniform(0, 0.6))
        acknowledged |= await killed(process, lines)
        versions = await reopened(place, HashingEmbedder(), acknowledged)
        shared = shared or await share_commits(place)
        # Of each document one more version may be in whose acknowledgement did not get out.
        for name, version in versions.items():
            if name in acknowledged and version // 1_000 == acknowledged[name] // 1_000:
                assert version <= acknowledged[name] + 1, f"seed {seed}"
    assert shared, "no commit of several documents was put to the test"


@pytest.mark.exhaustive
@pytest.mark.timeout(400)  # many processes start, on a machine that may be busy
async def test_a_reader_sees_whole_versions_live_until_the_writer_is_killed(
    tmp_path: Path,
) -> None:
    place = Place(str(tmp_path))
    async with LocalEmbedder() as embedder:
        process, lines = await started(place, "minilm", 0)
        async with place.store(embedder) as store:
            first = await versions_in(store)
            assert first
            async with asyncio.timeout(60):
                while sum((await versions_in(store)).values()) < sum(first.values()) + 4:
                    await asyncio.sleep(0.01)
            acknowledged = await killed(process, lines)
            assert (await versions_in(store)).keys() >= acknowledged.keys()
        await reopened(place, embedder, acknowledged)


async def reader(place: Place) -> Process:
    """Run a process that reads until its input ends."""
    return await asyncio.create_subprocess_exec(
        sys.executable, str(READER), place.argument, stdin=PIPE, stdout=PIPE, env=ENVIRONMENT
    )


async def sees(process: Process, least: int) -> int:
    """Wait until the versions that a reader sees add up to so much; return to how much."""
    assert process.stdout
    async with asyncio.timeout(60):
        while (seen := int(await process.stdout.readline() or b"-1")) < least:
            assert seen >= 0, "the reader has ended"
        return seen


@pytest.mark.exhaustive
@pytest.mark.timeout(400)  # many processes start, on a machine that may be busy
async def test_two_processes_read_on_while_the_one_that_ingests_is_killed(place: Place) -> None:
    writer, lines = await started(place, "hashed", 0)
    readers = [await reader(place) for _ in range(2)]
    first = [await sees(each, 1) for each in readers]
    for each, seen in zip(readers, first, strict=True):
        await sees(each, seen + 4)  # live
    acknowledged = await killed(writer, lines)
    for each in readers:
        await sees(each, sum(acknowledged.values()))
        assert each.stdin
        each.stdin.close()
    for each in readers:
        await each.communicate()
        assert each.returncode == 0
    await reopened(place, HashingEmbedder(), acknowledged)
