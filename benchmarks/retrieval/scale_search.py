"""Measures searches: how long they take, what they cost, how much of the truth they find."""

import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import fmean

import lancedb
import msgspec
import numpy as np
from heddle_tools_service.knowledge.records import Comparison, Passage
from heddle_tools_service.knowledge.searching.filters import matching
from heddle_tools_service.knowledge.store import KnowledgeStore
from lancedb.rerankers import RRFReranker

from benchmarks.retrieval.scale_fill import COLLECTION, KEY, TOP, VALUE, Truth
from benchmarks.retrieval.scale_vectors import TokenMeans

_COLUMNS = (
    "document", "title", "uri", "metadata", "ordinal", "text", "heading", "page", "parent_text",
)  # fmt: skip
Search = Callable[[str], Awaitable[list[Passage]]]
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
    where = matching(Comparison(KEY, "equal", (VALUE,)))
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


async def measured(
    kind: str, search: Search, questions: Sequence[str], tenth: Sequence[float] | None = None
) -> Figures:
    """Ask all questions, one after the other, after some to warm up."""
    for question in questions[:10]:
        await search(question)
    took, hits = [], []
    cpu = time.process_time()
    for at, question in enumerate(questions):
        began = time.perf_counter()
        found = await search(question)
        took.append(time.perf_counter() - began)
        if tenth is not None:
            hits.append(sum(each.score >= tenth[at] - _CLOSE for each in found[:TOP]) / TOP)
    spent = (time.process_time() - cpu) / len(questions)
    p50, p95 = (float(each) for each in np.percentile(took, [50, 95]))
    recall = fmean(hits) if hits else None
    return Figures(kind, p50 * 1e3, p95 * 1e3, spent * 1e3, recall)


def truth(folder: Path, count: int) -> Truth:
    """Return what the exact search found."""
    return msgspec.json.decode((folder / f"truth-{count}.json").read_bytes(), type=Truth)
