"""Measures searches: how long they take, what they cost, how much of the truth they find."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import fmean

import lancedb
import msgspec
import numpy as np
from heddle_knowledge.collection.types import Passage
from heddle_knowledge.engines.conditions import Tag
from heddle_knowledge.store import KnowledgeStore
from lancedb.rerankers import RRFReranker

from benchmarks.retrieval.scale_fill import COLLECTION, KEY, TOP, VALUE, Truth
from benchmarks.retrieval.scale_vectors import TokenMeans

_COLUMNS = (
    "document", "title", "uri", "metadata", "ordinal", "text", "heading", "page", "parent_text",
)  # fmt: skip
Search = Callable[[str], Awaitable[list[Passage]]]
_BLOCK = 20
_CLOSE = 1e-4
"""Identical passages stand many times in the corpus: whichever is found, it is right."""


class Figures(msgspec.Struct, frozen=True):
    """What a kind of search took: milliseconds, of the clock and of the processor."""

    kind: str
    p50: float
    p95: float
    cpu: float
    recall: float | None


def searches(store: KnowledgeStore) -> dict[str, Search]:
    """Return the kinds of search of Heddle."""
    where = Tag(KEY, (VALUE,))
    return {
        "vector": lambda text: store.passages.search(COLLECTION, text, top_k=TOP, mode="vector"),
        "text": lambda text: store.passages.search(COLLECTION, text, top_k=TOP, mode="text"),
        "hybrid": lambda text: store.passages.search(COLLECTION, text, top_k=TOP),
        "vector, filtered": lambda text: store.passages.search(
            COLLECTION, text, top_k=TOP, mode="vector", where=where
        ),
        "hybrid, filtered": lambda text: store.passages.search(
            COLLECTION, text, top_k=TOP, where=where
        ),
    }


async def bare(
    stack: AsyncExitStack, folder: Path, store: KnowledgeStore, embedder: TokenMeans
) -> Search:
    """Return LanceDB's own hybrid search of the same table, for the same answer."""
    database = await lancedb.connect_async(str(folder))
    stack.callback(database.close)
    made = await store.collections.get(COLLECTION)
    table = await database.open_table(f"chunks_{made.id}")
    reranker = RRFReranker()

    async def search(text: str) -> list[Passage]:
        (vector,) = embedder.vectors([text])
        near = table.query().nearest_to(vector).distance_type("cosine").ef(400).refine_factor(2)
        both = near.nearest_to_text(text, columns="indexed").rerank(reranker)
        await both.select(list(_COLUMNS)).limit(TOP).to_list()
        return []

    return search


class Taken:
    """What the searches of a kind have taken so far, in seconds."""

    def __init__(self, search: Search, tenth: Sequence[float] | None) -> None:
        self._search = search
        self._tenth = tenth
        self._clock: list[float] = []
        self._hits: list[float] = []
        self._cpu = 0.0

    async def ask(self, at: int, question: str) -> None:
        """Ask a question; `at` is its place among all."""
        began, cpu = time.perf_counter(), time.process_time()
        found = await self._search(question)
        self._clock.append(time.perf_counter() - began)
        self._cpu += time.process_time() - cpu
        if self._tenth is not None:
            right = [each for each in found[:TOP] if each.score >= self._tenth[at] - _CLOSE]
            self._hits.append(len(right) / TOP)

    def figures(self, kind: str) -> Figures:
        """Return what it comes to."""
        p50, p95 = (float(each) * 1e3 for each in np.percentile(self._clock, [50, 95]))
        recall = fmean(self._hits) if self._hits else None
        return Figures(kind, p50, p95, self._cpu / len(self._clock) * 1e3, recall)


async def measured(
    ways: Mapping[str, Search], questions: Sequence[str], tenth: Mapping[str, Sequence[float]]
) -> list[Figures]:
    """Ask all questions, one after the other, after some to warm up.

    The kinds take turns, a block of questions each, for a machine is faster at one moment than at
    another.
    """
    taken = {kind: Taken(way, tenth.get(kind)) for kind, way in ways.items()}
    for way in ways.values():
        for question in questions[:_BLOCK]:
            await way(question)
    for start in range(0, len(questions), _BLOCK):
        for one in taken.values():
            for at in range(start, min(start + _BLOCK, len(questions))):
                await one.ask(at, questions[at])
    return [one.figures(kind) for kind, one in taken.items()]


def truth(folder: Path, count: int) -> Truth:
    """Return what the exact search found."""
    return msgspec.json.decode((folder / f"truth-{count}.json").read_bytes(), type=Truth)
