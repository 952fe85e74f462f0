"""`python -m benchmarks.graph`: measures drawing a graph and asking it; prints the figures."""

import argparse
import asyncio
import hashlib
import random
import statistics
import time
from collections.abc import Awaitable
from contextlib import aclosing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import psutil
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_knowledge.chunking.chunks import Chunk, chunk
from heddle_knowledge.database.opening import KnowledgeDatabase
from heddle_knowledge.formats.blocks import ParsedDocument
from heddle_knowledge.graph.graphs import CollectionGraph, Graphs
from heddle_knowledge.graph.parts import GraphParts
from heddle_knowledge.graph.records import AskPaths, AskThemes, Held
from heddle_knowledge.workers.worker import WorkerProcess

from benchmarks.graph.corpus import documents

_SECONDS = 3_600.0
_WAYS = 100
AnswerT = TypeVar("AnswerT")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser("python -m benchmarks.graph", description=__doc__)
    parser.add_argument("--packages", type=int, default=4_000, help="how many are drawn [4000]")
    asked = parser.parse_args()
    asyncio.run(_measure(asked.packages))


async def _measure(packages: int) -> None:
    with TemporaryDirectory(prefix="heddle-bench-") as folder:
        async with aclosing(KnowledgeDatabase("", Path(folder))) as database:
            graphs = Graphs(database, seconds=_SECONDS)
            try:
                graph = CollectionGraph(GraphParts(database, "bench"), graphs.extraction)
                await _drawn(graph, documents(packages))
                await _asked(graphs, Held("bench", await graph.parts.all(), missing=0))
            finally:
                await graphs.aclose()


async def _drawn(graph: CollectionGraph, corpus: list[ParsedDocument]) -> None:
    warm = chunk(ParsedDocument("warm", corpus[0].blocks[:1]))
    await _timed("load the model, first passage", graph.extraction, _all(graph, "warm", warm))
    passages = 0
    before, started = _cpu(graph.extraction), time.perf_counter()
    for document in corpus:
        chunks = chunk(document)
        await _all(graph, document.title, chunks)
        passages += len(chunks)
    seconds, cpu = time.perf_counter() - started, _cpu(graph.extraction) - before
    print(f"drawing {passages} passages: {_told(graph.extraction)}")
    per = 1_000 / passages
    print(f"per 1,000 passages: {seconds * per:.1f} s, {cpu * per:.1f} s of CPU in the worker")


async def _all(graph: CollectionGraph, name: str, chunks: list[Chunk]) -> None:
    async for _ in graph.draw(name, _checksum(name), chunks):
        pass


async def _asked(graphs: Graphs, held: Held) -> None:
    network = graphs.network
    first = await _timed("first themes: read, link, cluster", network, _ask(graphs, held, 1_000))
    await _timed("themes again", network, _ask(graphs, held, 10))
    print(str(first.summary).replace("\n", ", "), f"{len(first.themes)} themes")
    for theme in first.themes[:3]:
        print(f"  {theme.entity_count} names: {', '.join(theme.entities[:8])}")
    names = sorted({name for theme in first.themes for name in theme.entities})
    choice = random.Random(1)  # noqa: S311 - no secret
    times, lengths = [], []
    for _ in range(_WAYS):
        start, end = choice.sample(names, 2)
        began = time.perf_counter()
        reply = await graphs.ask(AskPaths([held], start, end, 3))
        times.append((time.perf_counter() - began) * 1_000)
        answer = pb.FindGraphPathsResponse.FromString(reply)
        lengths.append(len(answer.paths[0].links) if answer.paths else 0)
    linked = [length for length in lengths if length]
    p50, p95 = statistics.median(times), statistics.quantiles(times, n=20)[-1]
    print(f"{_WAYS} questions for three ways: p50 {p50:.0f} ms, p95 {p95:.0f} ms")
    print(f"{len(linked)} of them linked, by {statistics.mean(linked):.1f} steps; {_told(network)}")


async def _ask(graphs: Graphs, held: Held, most: int) -> pb.ListGraphThemesResponse:
    reply = await graphs.ask(AskThemes([held], most))
    return pb.ListGraphThemesResponse.FromString(reply)


async def _timed(what: str, worker: WorkerProcess, work: Awaitable[AnswerT]) -> AnswerT:
    started = time.perf_counter()
    found = await work
    print(f"{what}: {time.perf_counter() - started:.2f} s; {_told(worker)}")
    return found


def _cpu(worker: WorkerProcess) -> float:
    times = psutil.Process(worker.pid).cpu_times()
    return times.user + times.system


def _told(worker: WorkerProcess) -> str:
    memory = psutil.Process(worker.pid).memory_info().rss / 1e6
    return f"{_cpu(worker):.1f} s of CPU so far, {memory:.0f} MB"


def _checksum(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


if __name__ == "__main__":
    main()
