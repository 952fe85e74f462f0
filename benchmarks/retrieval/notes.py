"""`python -m benchmarks.retrieval.notes`: how many short notes a second get into a collection.

Each note is a document of one paragraph and goes the whole way: read, cut, embedded, committed and
acknowledged. `--at-once` says how many are in flight.
"""

import argparse
import asyncio
import contextlib
import os
import random
import secrets
import time
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory

from heddle_knowledge.collection.store import open_collection_store
from heddle_knowledge.embedders.embedding import Embedder
from heddle_knowledge.embedders.local_embedders import LocalEmbedder
from heddle_knowledge.engines.address import open_engine
from heddle_knowledge.store import KnowledgeStore, open_store

from benchmarks.gateway.accounting import our_seconds
from benchmarks.retrieval.hashing_embedder import HashingEmbedder

_TEXT = (
    "warp weft shaft reed beam shed pick heddle lease tension thread cloth loom tie pattern "
    "draft sley hand wool linen cotton of the a and with over under through each every "
    "is was holds keeps turns lifts lowers counts begins ends long narrow even fine"
)
_WORDS_OF_A_NOTE = 55  # some 300 characters


async def measure(place: str, embedder: Embedder, count: int, at_once: int) -> None:
    """Ingest the notes and print what it took."""
    async with open_store(place, embedder) as store:
        made = await store.collections.create(f"notes-{secrets.token_hex(4)}")
        await _ingest(store, made.id, "first", "The workers start with this one.")
        before = await _version(place, made.id)
        waiting = iter(enumerate(_notes(count)))
        began, spent = time.perf_counter(), our_seconds()
        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(_work(store, made.id, waiting))
        seconds, spent = time.perf_counter() - began, our_seconds() - spent
        after = await _version(place, made.id)
    told = (
        f"{type(embedder).__name__}, {at_once} at once: {count / seconds:.1f} notes/s",
        f"{seconds:.1f} s",
        f"{1_000 * spent / count:.1f} ms of processor time each",
        f"{after - before} commits and steps of upkeep",
    )
    print("; ".join(told), flush=True)


def _notes(count: int) -> list[str]:
    dice = random.Random(42)  # noqa: S311 - the same notes every time
    words = _TEXT.split()
    return [" ".join(dice.choices(words, k=_WORDS_OF_A_NOTE)) + "." for _ in range(count)]


async def _work(store: KnowledgeStore, collection: str, waiting: "enumerate[str]") -> None:
    for number, text in waiting:
        await _ingest(store, collection, f"note-{number}.txt", text)


async def _ingest(store: KnowledgeStore, collection: str, name: str, text: str) -> None:
    async for _ in store.documents.ingest(collection, name, text.encode()):
        pass


async def _version(place: str, collection: str) -> int:
    async with open_engine(place, {}) as engine, open_collection_store(engine) as collection_store:
        handle = await collection_store.open(await collection_store.registry.get(collection))
        return await handle.table.version()


@contextlib.asynccontextmanager
async def _embedders(names: list[str]) -> AsyncIterator[list[Embedder]]:
    async with LocalEmbedder() as minilm:
        known: dict[str, Embedder] = {"instant": HashingEmbedder(dim=384), "minilm": minilm}
        yield [known[name] for name in names]


async def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser("python -m benchmarks.retrieval.notes", description=__doc__)
    parser.add_argument("--notes", type=int, default=500)
    parser.add_argument("--at-once", type=int, action="append", help="one or more [1, 16]")
    parser.add_argument(
        "--embedder", choices=("instant", "minilm"), action="append", help="one or more [both]"
    )
    parser.add_argument("--place", help="postgresql://…, else a fresh folder")
    asked = parser.parse_args()
    async with _embedders(asked.embedder or ["instant", "minilm"]) as embedders:
        for embedder in embedders:
            for at_once in asked.at_once or (1, 16):
                with TemporaryDirectory(prefix="heddle-bench-") as folder:
                    place = asked.place or str(Path(folder) / "store")
                    await measure(place, embedder, asked.notes, at_once)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    asyncio.run(main())
