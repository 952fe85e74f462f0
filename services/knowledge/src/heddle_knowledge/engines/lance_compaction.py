"""Compaction of a Lance table with pylance: LanceDB offers no control over the indexes.

An index has parts, each of some fragments, and a search visits all of them. LanceDB's `optimize`
writes the index of words anew for every few rows, so that each searching process reads it again,
and adds a graph of vectors every time, without end. Here the newest parts are merged while they
are not much larger than what they are merged with, like the runs of a log-structured merge tree:
there are as many parts, and a row is indexed as often, as the logarithm of the rows.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from heddle_knowledge.engines.interface import Snapshot

if TYPE_CHECKING:
    from lance import LanceDataset

_FEWEST_VECTORS = 2_048
"""Fewer are compared one by one in some two milliseconds; a graph of them takes seconds."""
# The engine's own graph, with 20 neighbours and 300 considered, turns out differently every time:
# at 100,000 texts, a third of them repeated, it found 0.94 to 0.99 of the ten best. This one, half
# as dear again to make, found 0.99.
_NEIGHBOURS = 32
_CONSIDERED = 400
_GRAPH_ROWS = 2**20
"""A larger graph would take too much memory to make."""
_WORDS_FACTOR = 8
_VECTORS_FACTOR = 1
"""How much larger a part may be than what it is merged with: a row of words takes microseconds, and
each part of them a millisecond of every search; a row of vectors takes a millisecond."""

# Longer than any query runs, so that no reader of an older version loses its files.
_KEPT_VERSIONS = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a table is.

    Attributes:
        uri: Its folder or address.
        options: What its object store has to be told.
        vector: The column of vectors, empty if it has none.
    """

    uri: str
    options: Mapping[str, str]
    vector: str

    def dataset(self, version: int | None = None) -> "LanceDataset":
        """Open a version, the latest unless told otherwise."""
        # Only the compaction process needs it, and it takes 200 MB.
        import lance  # noqa: PLC0415

        return lance.dataset(self.uri, version, storage_options=dict(self.options))


def compact(place: Place, spared: Snapshot | None) -> None:
    """Merge small fragments (under a million rows) that are in the same parts of all indexes.

    Not those of a state whose vectors are being indexed: the index could not be committed.
    """
    dataset = place.dataset()
    newest = -1 if spared is None else spared.newest
    numbers = [each.fragment_id for each in dataset.get_fragments()]
    dataset.optimize.compact_files(
        excluded_fragment_ids=[number for number in numbers if number <= newest]
    )


def index_rows(place: Place) -> None:
    """Add rows to the indexes of words and keys."""
    dataset = place.dataset()
    coverages = [each for each in _coverages(dataset) if place.vector not in each.fields]
    # Those with the same parts are of one commit, and have the same parts again.
    together: defaultdict[int, list[str]] = defaultdict(list)
    for each in coverages:
        if each.new:
            count = parts_to_merge(each.parts, each.new, _WORDS_FACTOR)
            together[count].append(each.name)
    for count, names in together.items():
        dataset.optimize.optimize_indices(index_names=names, num_indices_to_merge=count)


def vectors_due(place: Place, ann_rows: int) -> Snapshot | None:
    """Say whether there are vectors to index, and of which state."""
    dataset = place.dataset()
    numbers = [each.fragment_id for each in dataset.get_fragments()]
    made = [each for each in _coverages(dataset) if place.vector in each.fields]
    new = made[0].new if made else dataset.count_rows()
    if new < (_FEWEST_VECTORS if made else max(1, ann_rows)):
        return None
    return Snapshot(dataset.version, max(numbers))


def index_vectors(place: Place, snapshot: Snapshot) -> None:
    """Make the index of vectors as of a state, or add its rows to it."""
    dataset = place.dataset(snapshot.version)
    for each in _coverages(dataset):
        if place.vector in each.fields:
            count = parts_to_merge(each.parts, each.new, _VECTORS_FACTOR)
            dataset.optimize.optimize_indices(index_names=[each.name], num_indices_to_merge=count)
            return
    dataset.create_index(
        place.vector,
        "IVF_HNSW_SQ",
        metric="cosine",
        num_partitions=1 + dataset.count_rows() // _GRAPH_ROWS,
        m=_NEIGHBOURS,
        ef_construction=_CONSIDERED,
    )


def prune(place: Place) -> None:
    """Remove the files of old versions, and unreferenced files.

    Unreferenced files of writers that died are removed when they are a week old. Before, Lance
    cannot distinguish them from the files of a commit in progress.
    """
    place.dataset().cleanup_old_versions(older_than=_KEPT_VERSIONS)


def parts_to_merge(parts: Sequence[int], new: int, factor: int) -> int:
    """Say how many of the newest parts to merge with new rows.

    Args:
        parts: The rows of each, the oldest first.
        new: How many rows are in none of them.
        factor: How much larger a part may be than all that is merged with it.
    """
    total = new
    for count, rows in enumerate(reversed(parts)):
        if rows > factor * total:
            return count
        total += rows
    return len(parts)


@dataclass(frozen=True, slots=True)
class _Coverage:
    """What an index holds: the rows of each part, the oldest first, and how many it lacks."""

    name: str
    fields: Sequence[str]
    parts: Sequence[int]
    new: int


def _coverages(dataset: "LanceDataset") -> list[_Coverage]:
    rows = {each.fragment_id: each.physical_rows for each in dataset.get_fragments()}
    found = []
    for index in dataset.describe_indices():
        parts = [set(part.fragment_ids) & rows.keys() for part in index.segments]
        lacking = rows.keys() - set[int]().union(*parts)
        sizes = [sum(rows[each] for each in part) for part in parts]
        new = sum(rows[each] for each in lacking)
        found.append(_Coverage(index.name, index.field_names, sizes, new))
    return found
