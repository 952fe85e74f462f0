"""`python -m benchmarks.retrieval.scale_ingest PLACE FOLDER SECONDS MODEL`: ingests meanwhile.

Documents go the whole way: read, cut, embedded, committed. Says how many passages it was. MODEL is
`minilm`, which takes its time, or `instant`.
"""

import asyncio
import os
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from heddle_knowledge.collection.types import Ingested
from heddle_knowledge.embedders.embedding import Kind, Vectors
from heddle_knowledge.embedders.local_embedders import LocalEmbedder
from heddle_knowledge.store import open_store

from benchmarks.gateway.accounting import our_seconds
from benchmarks.retrieval.scale_fill import COLLECTION
from benchmarks.retrieval.scale_texts import read
from benchmarks.retrieval.scale_vectors import TokenMeans

_TEXTS = 40_000
_PER_DOCUMENT = 40


class _WithModel(TokenMeans):
    """Vectors like those that are in the store, for the time that a model takes."""

    def __init__(self, folder: Path, model: LocalEmbedder) -> None:
        super().__init__(folder)
        self._model = model

    async def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Embed texts twice, and return the vectors that fit the store."""
        await self._model.embed(texts, kind)
        return self.vectors(texts)


@asynccontextmanager
async def _embedder(folder: Path, model: str) -> AsyncGenerator[TokenMeans]:
    if model == "instant":
        yield TokenMeans(folder)
        return
    async with LocalEmbedder() as minilm:
        await minilm.embed(["loaded before the clock runs"], "passage")
        yield _WithModel(folder, minilm)


async def ingest(place: str, folder: Path, seconds: float, model: str) -> None:
    """Ingest documents of some forty passages, one after the other, for so long."""
    os.nice(10)  # searches go first
    texts, _ = read(folder, _TEXTS, 1)
    passages, number = 0, 0
    async with _embedder(folder, model) as embedder, open_store(place, embedder) as store:
        began, cpu = time.monotonic(), our_seconds()
        while time.monotonic() - began < seconds:
            at = number * _PER_DOCUMENT % _TEXTS
            name = f"new-{os.getpid()}-{number}"  # none of an earlier run
            body = "\n\n".join(each.text for each in texts[at : at + _PER_DOCUMENT])
            async for event in store.documents.ingest(COLLECTION, name, body.encode()):
                if isinstance(event, Ingested):
                    passages += event.chunks
            number += 1
        spent = time.monotonic() - began
        print(passages, spent, our_seconds() - cpu, flush=True)


if __name__ == "__main__":
    asyncio.run(ingest(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]), sys.argv[4]))
