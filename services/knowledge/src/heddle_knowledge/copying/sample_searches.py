"""The same searches on both sides of a copy, whose answers must agree.

A passage of the source is looked for by its own vector and by its own words, so no embedding model
is needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heddle_knowledge.collection_handle import CollectionHandle
from heddle_knowledge.copying.side import Side
from heddle_knowledge.engines.conditions import EVERYTHING, All, Compare
from heddle_knowledge.engines.interface import DISTANCE, KEY, SCORE
from heddle_knowledge.records import Collection
from heddle_knowledge.tables import list_documents

_PER_COLLECTION = 5
_NEAREST = 10
_MATCHING = 50
"""Engines rank words differently: a passage among the first ten of one is among so many."""
_WORDS = 8
_TOLERANCE = 1e-4
_AGREEING = 0.8
"""Of the results of approximate indexes so many must be the same."""
_PLACE = ("document", "ordinal")
Hits = dict[tuple[str, int], float]
"""Passages with their distance or score, the best first."""


@dataclass(frozen=True, slots=True)
class Compared:
    """The answers of a collection."""

    searches: int
    differences: Sequence[str]


async def compare(record: Collection, source: Side, target: Side) -> Compared:
    """Run the sample of searches of one collection on both sides."""
    one, other = await source.collections.open(record), await target.collections.open(record)
    differences = []
    documents = await _sample(one)
    for document in documents:
        first = All((Compare("document", "=", document), Compare("ordinal", "=", 0)))
        [row] = (await one.table.rows(["indexed", "vector"], first)).to_pylist()
        vector = np.asarray(row["vector"], np.float32)
        if not await _nearest_agree(one, other, vector):
            differences.append(f"nearest passages of {document!r} in {record.name!r}")
        words = " ".join(row["indexed"].split()[:_WORDS])
        if not await _words_agree(one, other, words, document):
            differences.append(f"words of {document!r} in {record.name!r}")
    return Compared(2 * len(documents), differences)


async def _sample(handle: CollectionHandle) -> list[str]:
    """Return the names of some documents, from the whole of the collection."""
    documents = await list_documents(handle.table, "", 1)
    total = await handle.table.count(Compare("ordinal", "=", 0))
    names = [each.name for each in documents]
    step = max(1, total // _PER_COLLECTION)
    while documents and len(names) < min(total, _PER_COLLECTION):
        documents = await list_documents(handle.table, names[-1], step)
        names += [each.name for each in documents[-1:]]
    return names


async def _nearest_agree(
    one: CollectionHandle, other: CollectionHandle, vector: np.ndarray
) -> bool:
    ours, theirs = await _nearest(one, vector), await _nearest(other, vector)
    if await one.table.has_vector_index() or await other.table.has_vector_index():
        return len(ours.keys() & theirs.keys()) >= _AGREEING * len(ours)
    return _certain(ours) <= theirs.keys() and _certain(theirs) <= ours.keys()


async def _nearest(handle: CollectionHandle, vector: np.ndarray) -> Hits:
    rows = await handle.table.nearest(vector, [KEY, *_PLACE], EVERYTHING, _NEAREST)
    return {(row["document"], row["ordinal"]): row[DISTANCE] for row in rows.to_pylist()}


def _certain(hits: Hits) -> set[tuple[str, int]]:
    """Return the hits that no passage of the same distance may have replaced."""
    if len(hits) < _NEAREST:
        return set(hits)
    furthest = max(hits.values())
    return {place for place, distance in hits.items() if distance < furthest - _TOLERANCE}


async def _words_agree(
    one: CollectionHandle, other: CollectionHandle, words: str, document: str
) -> bool:
    """Say whether a passage that the source finds first by its words is found by the target."""
    place = (document, 0)
    rows = await one.table.matching(words, [KEY, *_PLACE], EVERYTHING, _NEAREST)
    if place not in {(row["document"], row["ordinal"]) for row in rows.to_pylist() if row[SCORE]}:
        return True
    rows = await other.table.matching(words, [KEY, *_PLACE], EVERYTHING, _MATCHING)
    return place in {(row["document"], row["ordinal"]) for row in rows.to_pylist()}
