"""Ingests versions of documents without end and prints each acknowledgement; somebody kills it.

Usage: python ingest_until_killed.py PLACE hashed|minilm FIRST_VERSION
"""

import asyncio
import sys
from contextlib import AsyncExitStack, suppress
from itertools import count
from typing import TYPE_CHECKING

from heddle_knowledge.collection.types import Ingested
from heddle_knowledge.embedders.local_embedders import LocalEmbedder
from heddle_knowledge.errors import CollectionExistsError
from heddle_knowledge.store import KnowledgeStore
from knowledge.store.places import Place

from benchmarks.retrieval.hashing_embedder import HashingEmbedder

if TYPE_CHECKING:
    from heddle_knowledge.embedders.embedding import Embedder

DOCUMENTS = 8
"""So many that commits are shared."""


def text(version: int) -> str:
    """Write one version: 1 to 9 passages that all say which version they are of."""
    return "\n\n".join(f"v{version} passage {n} " + "words " * 65 for n in range(1 + version % 9))


async def ingest(store: KnowledgeStore, name: str, first: int) -> None:
    """Replace one document by ever newer versions."""
    for version in count(first):
        async for event in store.documents.ingest("docs", name, text(version).encode()):
            if isinstance(event, Ingested):
                print(name, version, flush=True)  # noqa: T201 (the parent reads it)


async def main(place: Place, kind: str, first: int) -> None:
    """Ingest several documents at once, with upkeep in between, until the process is killed."""
    async with AsyncExitStack() as stack:
        embedder: Embedder = HashingEmbedder()
        if kind == "minilm":
            embedder = await stack.enter_async_context(LocalEmbedder())
        store = await stack.enter_async_context(place.store(embedder, quiet_seconds=0.01))
        with suppress(CollectionExistsError):
            await store.collections.create("docs")
        await asyncio.gather(*(ingest(store, f"d{n}", first) for n in range(DOCUMENTS)))


if __name__ == "__main__":
    asyncio.run(main(Place.read(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
