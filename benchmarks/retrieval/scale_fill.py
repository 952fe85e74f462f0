"""`python -m benchmarks.retrieval.scale_fill PLACE CHUNKS FOLDER`: fills a store, by the engine.

A process of its own, so that what measures holds none of it. Leaves what the exact search finds in
`FOLDER/truth-CHUNKS.json`.
"""

import asyncio
import json
import sys
import time
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from heddle_knowledge.collection import tables
from heddle_knowledge.collection.names import document_id
from heddle_knowledge.collection.store import open_collection_store
from heddle_knowledge.embedders.embedding import Vectors
from heddle_knowledge.engines.address import open_engine
from heddle_knowledge.engines.conditions import labels
from heddle_knowledge.store import open_store

from benchmarks.retrieval.scale_texts import Text, read
from benchmarks.retrieval.scale_vectors import TokenMeans

COLLECTION = "debian"
KEY, VALUE = "initial", "g"
"""What filtered searches ask for: one passage of about twenty."""
TOP = 10
_QUESTIONS = 200
_BATCH = 20_000


class Truth(msgspec.Struct):
    """Questions, and the cosine of the tenth best passage of all, and of those that match."""

    questions: list[str]
    tenth: list[float]
    tenth_filtered: list[float]
    fill_seconds: float


async def fill(place: str, count: int, folder: Path) -> None:
    """Make the collection, write its rows in batches, and search exactly."""
    embedder = TokenMeans(folder)
    texts, questions = read(folder, count, _QUESTIONS)
    asked = embedder.vectors(questions)
    best, best_filtered = (np.full((_QUESTIONS, TOP), -2.0, np.float32) for _ in range(2))
    async with open_store(place, embedder) as store:
        collection = await store.collections.create(COLLECTION)
    spent = 0.0
    async with open_engine(place, {}) as engine, open_collection_store(engine) as collection_store:
        handle = await collection_store.open(collection)
        for start in range(0, count, _BATCH):
            batch = texts[start : start + _BATCH]
            vectors = embedder.vectors([each.text for each in batch])
            table = rows(batch, vectors, start, collection.id)
            began = time.perf_counter()
            async with handle.writing():
                await handle.table.append(table)
            spent += time.perf_counter() - began
            matching = np.array([_initial(each) == VALUE for each in batch])
            best = _better(best, asked @ vectors.T)
            best_filtered = _better(best_filtered, asked @ vectors[matching].T)
    truth = Truth(questions, best[:, 0].tolist(), best_filtered[:, 0].tolist(), spent)
    (folder / f"truth-{count}.json").write_bytes(msgspec.json.encode(truth))


def rows(batch: list[Text], vectors: Vectors, start: int, collection: str) -> pa.Table:
    """Lay rows out: all passages of a package in a batch are a document."""
    flat = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
    listed: list[dict[str, Any]] = []
    for package, group in groupby(batch, key=lambda each: each.package):
        # A package may have several descriptions, of several versions.
        members, name = list(group), f"{package}@{start + len(listed)}"
        metadata = {KEY: _initial(members[0])}
        listed += (
            {
                "document": name,
                "title": package,
                "uri": f"https://packages.debian.org/{package}",
                "media_type": "text/plain",
                "sha256": "0" * 64,
                "metadata": json.dumps(metadata),
                "fingerprint": "0" * 64,
                "size": sum(len(each.text) for each in members),
                "chunks": len(members),
                "ingested_at": 1,
                "ordinal": ordinal,
                "text": each.text,
                "indexed": each.text,
                "heading": [package],
                "parent_text": " ".join(each.text for each in members)[:2_000],
                "labels": labels(metadata),
                "document_id": document_id(collection, name),
                "document_time": 1_600_000_000_000_000,
                "start_offset": 0,
                "end_offset": len(each.text),
                "pages": 0,
            }
            for ordinal, each in enumerate(members)
        )
    schema = tables.layout(vectors.shape[1]).schema
    columns = [
        flat
        if field.name == "vector"
        else pa.array([row.get(field.name) for row in listed], field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def _initial(text: Text) -> str:
    return text.package[0]


def _better(best: Vectors, found: Vectors) -> Vectors:
    """Keep the best cosines of each question, in ascending order."""
    both = np.concatenate([best, found], axis=1)
    top: Vectors = np.sort(np.partition(both, -TOP, axis=1)[:, -TOP:], axis=1)
    return top


if __name__ == "__main__":
    asyncio.run(fill(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])))
