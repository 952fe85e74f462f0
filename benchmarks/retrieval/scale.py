"""`python -m benchmarks.retrieval.scale`: what searches cost at 1,000 to 1,000,000 passages."""

import argparse
import asyncio
import os
import sys
import time
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import msgspec
import psutil
from heddle_tools_service.knowledge.store import KnowledgeStore, open_store

from benchmarks.gateway.processes import REPOSITORY
from benchmarks.gateway.report import circumstances
from benchmarks.retrieval import scale_picture
from benchmarks.retrieval.scale_fill import COLLECTION
from benchmarks.retrieval.scale_search import Figures, Search, bare, measured, searches, truth
from benchmarks.retrieval.scale_vectors import TokenMeans

BARE = "bare LanceDB hybrid"
_TEXTS = REPOSITORY / ".heddle/benchmarks/texts"
_RESULTS = REPOSITORY / "benchmarks/results/retrieval-scale.json"
_PICTURE = REPOSITORY / "benchmarks/retrieval/scale.svg"


class Size(msgspec.Struct):
    """What was found at one number of passages. Seconds, MiB, passages per second."""

    chunks: int
    fill: float
    upkeep: float
    upkeep_cpu: float
    memory: float
    figures: list[Figures]
    ingestion: float
    ingestion_cpu: float
    hybrid_alone: float
    hybrid_beside_ingestion: float
    hybrid_alone_before: float
    hybrid_beside_upkeep: float


class _Kept(msgspec.Struct):
    sizes: list[Size]


async def measure(count: int, folder: Path, seconds: float) -> Size:
    """Fill a store of so many passages and measure it."""
    place = folder / f"store-{count}"
    await _run("scale_fill", str(place), str(count), str(_TEXTS))
    known = truth(_TEXTS, count)
    async with AsyncExitStack() as stack:
        # What tends the store in the background would disturb: upkeep is measured by itself.
        embedder = TokenMeans(_TEXTS)
        store = await stack.enter_async_context(open_store(place, embedder, quiet_seconds=1e6))
        ways = searches(store)
        before = await _p50(ways["hybrid"], known.questions, 5.0)
        upkeep, upkeep_cpu, beside_upkeep = await _tidied(store, ways["hybrid"], known.questions)
        tenth = {"vector": known.tenth, "vector, filtered": known.tenth_filtered}
        figures = [
            await measured(kind, way, known.questions, tenth.get(kind))
            for kind, way in ways.items()
        ]
        memory = psutil.Process().memory_info().rss / 2**20
        own = await bare(stack, place, store, embedder)
        figures.append(await measured(BARE, own, known.questions))
        alone = await _p50(ways["hybrid"], known.questions, 5.0)
        ingesting = asyncio.create_task(_run("scale_ingest", str(place), str(_TEXTS), str(seconds)))
        await asyncio.sleep(4.0)  # it reads its texts
        beside = await _p50(ways["hybrid"], known.questions, seconds)
        passages, spent, cpu = map(float, (await ingesting).split()[-3:])
    return Size(
        count, known.fill_seconds, upkeep, upkeep_cpu, memory, figures, passages / spent,
        cpu / passages * 1e3, alone, beside, before, beside_upkeep,
    )  # fmt: skip


async def _tidied(
    store: KnowledgeStore, search: Search, questions: list[str]
) -> tuple[float, float, float]:
    """Put the store in order while it is searched; return seconds, CPU seconds, and the p50."""
    began, took = time.monotonic(), []
    tidying = asyncio.create_task(store.tidy(COLLECTION))
    cpu, number = 0.0, 0
    while not tidying.done():
        took.append(await _once(search, questions[number % len(questions)]))
        number += 1
        children = psutil.Process().children(recursive=True)
        cpu = max(cpu, sum(_cpu(each) for each in children))
        await asyncio.sleep(0.02)
    await tidying
    return time.monotonic() - began, cpu, median(took) * 1e3


def _cpu(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system)


async def _p50(search: Search, questions: list[str], seconds: float) -> float:
    """Return the median of the milliseconds that searches take, one every fiftieth of a second."""
    took, until, number = [], time.monotonic() + seconds, 0
    while time.monotonic() < until:
        took.append(await _once(search, questions[number % len(questions)]))
        number += 1
        await asyncio.sleep(0.02)
    return median(took) * 1e3


async def _once(search: Search, question: str) -> float:
    began = time.perf_counter()
    await search(question)
    return time.perf_counter() - began


async def _run(module: str, *arguments: str) -> str:
    """Run a part of the benchmark as a process of its own; return what it says."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", f"benchmarks.retrieval.{module}", *arguments,
        stdout=asyncio.subprocess.PIPE, cwd=REPOSITORY,
    )  # fmt: skip
    said, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"{module} ended with {process.returncode}")
    return said.decode()


def table(sizes: list[Size]) -> str:
    """Return what was found as Markdown."""
    lines = [
        "| passages | search | p50 ms | p95 ms | CPU ms | recall@10 |",
        "|---|---|---|---|---|---|",
    ]
    for size in sizes:
        for one in size.figures:
            recall = "" if one.recall is None else f"{one.recall:.3f}"
            took = f"{one.p50:.1f} | {one.p95:.1f} | {one.cpu:.1f}"
            lines.append(f"| {size.chunks:,} | {one.kind} | {took} | {recall} |")
    lines += [
        "",
        (
            "| passages | rows written /s | upkeep s (CPU s) | memory MiB | ingested /s (CPU ms) "
            "| p50 beside ingestion (alone) | p50 beside upkeep (alone) |"
        ),
        "|---|---|---|---|---|---|---|",
    ]
    for size in sizes:
        cells = (
            f"{size.chunks:,}",
            f"{size.chunks / size.fill:,.0f}",
            f"{size.upkeep:.0f} ({size.upkeep_cpu:.0f})",
            f"{size.memory:.0f}",
            f"{size.ingestion:.0f} ({size.ingestion_cpu:.1f})",
            f"{size.hybrid_beside_ingestion:.1f} ({size.hybrid_alone:.1f})",
            f"{size.hybrid_beside_upkeep:.1f} ({size.hybrid_alone_before:.1f})",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _earlier(path: Path) -> list[Size]:
    """Return what other runs found, for the picture: a million takes an hour of its own."""
    if not path.exists():
        return []
    return msgspec.json.decode(path.read_bytes(), type=_Kept).sizes


def main() -> None:
    """Measure each size that is asked for; print, keep and draw what was found."""
    parser = argparse.ArgumentParser("python -m benchmarks.retrieval.scale", description=__doc__)
    parser.add_argument(
        "--chunks", type=int, nargs="+", default=[1_000, 10_000, 100_000], help="sizes to measure"
    )
    parser.add_argument("--seconds", type=float, default=20.0, help="of ingestion [20]")
    parser.add_argument(
        "--json", type=Path, default=_RESULTS, help="where figures are kept, beside those of others"
    )
    parser.add_argument("--picture", type=Path, default=_PICTURE, help="where they are drawn")
    asked = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    by_count = {size.chunks: size for size in _earlier(asked.json)}
    for count in asked.chunks:
        with TemporaryDirectory(prefix="heddle-scale-") as folder:
            by_count[count] = asyncio.run(measure(count, Path(folder), asked.seconds))
        print(table([by_count[count]]), flush=True)
        kept = {**circumstances({"chunks": asked.chunks}), "sizes": list(by_count.values())}
        asked.json.parent.mkdir(parents=True, exist_ok=True)
        asked.json.write_bytes(msgspec.json.format(msgspec.json.encode(kept)) + b"\n")
    sizes = [by_count[count] for count in sorted(by_count)]
    costs = {
        kind: [(size.chunks, one.cpu) for size in sizes for one in size.figures if one.kind == kind]
        for kind in (one.kind for one in sizes[0].figures)
    }
    asked.picture.write_text(scale_picture.drawn(costs), encoding="utf-8")


if __name__ == "__main__":
    main()
