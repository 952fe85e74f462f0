"""The passages that a search looks at more closely: found by meaning, by words, or by both.

Of each only what ranks it is read. The rest is read for those that are shown: a hundred texts with
their surroundings cost several times what finding them does.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from heddle_knowledge.collection.types import Mode
from heddle_knowledge.embedders.embedding import Vectors
from heddle_knowledge.engines.conditions import EVERYTHING, Condition
from heddle_knowledge.engines.interface import DISTANCE, KEY, SCORE, Table

_COSINE = "_cosine"
_IDENTITY = ("document", "ordinal", "ingested_at")
_LONGEST_TEXT_QUERY = 2_000  # characters; every word of it is a list to merge

Identity = tuple[str, int, int]
"""The identity of a passage: its document, its ordinal and the time of the ingestion."""


class PassagesChangedError(Exception):
    """A document has changed since its passages were found."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Passages, each once, in no order that means anything.

    Attributes:
        identities: What they are.
        keys: Where the engine has them, for the moment.
        cosine: Their similarity with the question, -1 to 1, shape [n].
        words: Their BM25, 0 where no word fits, shape [n].
        columns: What else was asked for, a row for each.
    """

    identities: list[Identity]
    keys: list[int]
    cosine: NDArray[np.float32]
    words: NDArray[np.float32]
    columns: list[dict[str, Any]]

    def __len__(self) -> int:
        return len(self.keys)


async def find_candidates(
    table: Table,
    query: str,
    vector: Vectors,
    *,
    count: int,
    mode: Mode,
    where: Condition = EVERYTHING,
    columns: Sequence[str] = (),
) -> Candidates:
    """Find candidates.

    Args:
        table: The table of a collection's chunks.
        query: The query.
        vector: The same as a vector of length 1, shape [dim].
        count: At most so many by meaning, and as many by words.
        mode: By which of the two.
        where: Which passages may be found.
        columns: What to read of each besides; few and narrow ones.

    Returns:
        Passages of documents as they are now.
    """
    column_names = [*_IDENTITY, *columns, KEY]
    searches = []
    if mode != "text":
        searches.append(_by_meaning(table, vector, column_names, where, count))
    if mode != "vector":
        searches.append(_by_words(table, query, vector, column_names, where, count))
    matches = pa.concat_tables(await asyncio.gather(*searches), promote_options="default")
    distinct_rows = _distinct(matches)
    rows = matches.take(pa.array(distinct_rows, pa.int64()))
    return Candidates(
        identities=_identities(rows),
        keys=rows.column(KEY).to_pylist(),
        cosine=np.clip(_numbers(rows, _COSINE), -1.0, 1.0),
        words=_numbers(rows, SCORE),
        columns=rows.select(list(columns)).to_pylist(),
    )


async def read(
    table: Table, candidates: Candidates, chosen: Sequence[int], columns: Sequence[str]
) -> list[dict[str, Any]]:
    """Read columns of some candidates, by their places in `candidates`, in that order.

    Raises:
        PassagesChangedError: A document has changed since: search again.
    """
    if not chosen:
        return []
    column_names = [*_IDENTITY, *(name for name in columns if name not in _IDENTITY)]
    rows = await table.at([candidates.keys[at] for at in chosen], column_names)
    by_identity = dict(zip(_identities(rows), rows.to_pylist(), strict=True))
    try:
        return [by_identity[candidates.identities[at]] for at in chosen]
    except KeyError as error:
        raise PassagesChangedError from error


async def _by_meaning(
    table: Table, vector: Vectors, columns: Sequence[str], where: Condition, count: int
) -> pa.Table:
    matches = await table.nearest(vector, columns, where, count)
    cosine = np.subtract(1.0, matches.column(DISTANCE).to_numpy(), dtype=np.float32)
    matches = matches.drop_columns(DISTANCE).append_column(_COSINE, pa.array(cosine))
    return matches.append_column(SCORE, pa.nulls(matches.num_rows, pa.float32()))


async def _by_words(
    table: Table,
    query: str,
    vector: Vectors,
    columns: Sequence[str],
    where: Condition,
    count: int,
) -> pa.Table:
    """Find by words; the cosine of what is found so is computed here."""
    matches = await table.matching(query[:_LONGEST_TEXT_QUERY], [*columns, "vector"], where, count)
    flat = matches.column("vector").combine_chunks().flatten().to_numpy(zero_copy_only=False)
    cosine = pa.array(flat.reshape(-1, vector.shape[0]) @ vector, pa.float32())
    return matches.drop_columns("vector").append_column(_COSINE, cosine)


def _distinct(matches: pa.Table) -> list[int]:
    """Return the rows to keep: each passage once.

    The two searches may have seen the table at two moments. A document that was replaced between
    them is taken as it is now, so that no answer mixes its versions.
    """
    newest: dict[str, int] = {}
    identities = _identities(matches)
    for document, _, ingested_at in identities:
        newest[document] = max(newest.get(document, 0), ingested_at)
    scored = matches.column(SCORE).is_valid().to_pylist()
    distinct_rows: dict[Identity, int] = {}
    for at, identity in enumerate(identities):
        if identity[2] == newest[identity[0]] and (identity not in distinct_rows or scored[at]):
            distinct_rows[identity] = at
    return list(distinct_rows.values())


def _identities(rows: pa.Table) -> list[Identity]:
    return list(zip(*(rows.column(name).to_pylist() for name in _IDENTITY), strict=True))


def _numbers(rows: pa.Table, column: str) -> NDArray[np.float32]:
    numbers: NDArray[np.float32] = rows.column(column).fill_null(0.0).to_numpy()
    return numbers.astype(np.float32)
