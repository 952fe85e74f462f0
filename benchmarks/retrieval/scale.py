"""`python -m benchmarks.retrieval.scale`: what searches cost at 1,000 to 1,000,000 passages."""

import argparse
import asyncio
import os
import sys
import time
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import msgspec
import psutil
from heddle_knowledge.store import KnowledgeStore, open_store

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
_MODELS = ("minilm", "instant")
_WARM = 6.0
"""Seconds after which another process has its texts and its model, and ingests."""
_WINDOW = 8.0
"""Seconds of searches alone, before and after those beside something."""


class Upkeep(msgspec.Struct):
    """What the first upkeep took, in seconds, and the p50 of hybrid searches then, in ms."""

    spent: float
    alone: float
    beside: float


class Ingestion(msgspec.Struct):
    """Passages a second, processor ms of each, and the p50 of hybrid searches then, in ms."""

    model: str
    rate: float
    cpu: float
    alone: float
    beside: float


class Size(msgspec.Struct):
    """What was found at one number of passages. Seconds, MiB."""

    chunks: int
    fill: float
    upkeep: Upkeep | None
    memory: float
    figures: list[Figures]
    ingestions: list[Ingestion]


class _Kept(msgspec.Struct):
    sizes: list[Size]


async def measure(count: int, folder: Path, seconds: float) -> Size:
    """Fill a store of so many passages, unless it is there, and measure it."""
    place = folder / f"store-{count}"
    is_new = not place.exists()
    if is_new:
        await _run("scale_fill", str(place), str(count), str(_TEXTS))
    known = truth(_TEXTS, count)
    async with AsyncExitStack() as stack:
        # What tends the store in the background would disturb: upkeep is measured by itself.
        embedder = TokenMeans(_TEXTS)
        store = await stack.enter_async_context(open_store(place, embedder, quiet_seconds=1e6))
        ways = searches(store)
        upkeep = None
        if is_new:
            upkeep = await _tidied(store, ways["hybrid"], known.questions)
        tenth = {"vector": known.tenth, "vector, filtered": known.tenth_filtered}
        own = await bare(stack, place, store, embedder)
        figures = await measured({**ways, BARE: own}, known.questions, tenth)
        memory = psutil.Process().memory_info().rss / 2**20
        ingestions = [
            await _ingested(model, place, ways["hybrid"], known.questions, seconds)
            for model in _MODELS
        ]
    return Size(count, known.fill_seconds, upkeep, memory, figures, ingestions)


async def _ingested(
    model: str, place: Path, search: Search, questions: list[str], seconds: float
) -> Ingestion:
    """Let another process ingest while the store is searched, and search before and after."""
    alone = await _took(search, questions, _WINDOW)
    ingesting = asyncio.create_task(
        _run("scale_ingest", str(place), str(_TEXTS), str(seconds + _WARM), model)
    )
    await asyncio.sleep(_WARM)
    beside = await _took(search, questions, seconds)
    passages, spent, cpu = map(float, (await ingesting).split()[-3:])
    alone += await _took(search, questions, _WINDOW)
    rate, each = passages / spent, cpu / passages * 1e3
    return Ingestion(model, rate, each, median(alone), median(beside))


async def _tidied(store: KnowledgeStore, search: Search, questions: list[str]) -> Upkeep:
    """Put the store in order while it is searched."""
    alone = await _took(search, questions, _WINDOW)
    began, took = time.monotonic(), []
    tidying = asyncio.create_task(store.tidy(COLLECTION))
    number = 0
    while not tidying.done():
        took.append(await _once(search, questions[number % len(questions)]))
        number += 1
        await asyncio.sleep(0.02)
    await tidying
    return Upkeep(time.monotonic() - began, median(alone), median(took))


async def _took(search: Search, questions: list[str], seconds: float) -> list[float]:
    """Return the milliseconds that searches take, with a fiftieth of a second between them."""
    took, until, number = [], time.monotonic() + seconds, 0
    while time.monotonic() < until:
        took.append(await _once(search, questions[number % len(questions)]))
        number += 1
        await asyncio.sleep(0.02)
    return took


async def _once(search: Search, question: str) -> float:
    began = time.perf_counter()
    await search(question)
    return (time.perf_counter() - began) * 1e3


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
            "| passages | rows written /s | upkeep s | p50 beside it (alone) | memory MiB "
            "| model | ingested /s (CPU ms) | p50 beside it (alone) | times |"
        ),
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [_row(size, one) for size in sizes for one in size.ingestions]
    return "\n".join(lines)


def _row(size: Size, one: Ingestion) -> str:
    kept = size.upkeep
    cells = (
        f"{size.chunks:,}",
        f"{size.chunks / size.fill:,.0f}",
        f"{kept.spent:.0f}" if kept else "",
        f"{kept.beside:.1f} ({kept.alone:.1f})" if kept else "",
        f"{size.memory:.0f}",
        one.model,
        f"{one.rate:.0f} ({one.cpu:.1f})",
        f"{one.beside:.1f} ({one.alone:.1f})",
        f"{one.beside / one.alone:.2f}",
    )
    return f"| {' | '.join(cells)} |"


def _earlier(path: Path) -> list[Size]:
    """Return what other runs found, for the picture: a million takes an hour of its own."""
    if not path.exists():
        return []
    return msgspec.json.decode(path.read_bytes(), type=_Kept).sizes


def _folder(kept: Path | None) -> AbstractContextManager[Path | str]:
    return TemporaryDirectory(prefix="heddle-scale-") if kept is None else nullcontext(kept)


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
    parser.add_argument(
        "--stores", type=Path, help="folder where stores are kept, and found by the next run"
    )
    asked = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    by_count = {size.chunks: size for size in _earlier(asked.json)}
    for count in asked.chunks:
        with _folder(asked.stores) as folder:
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
