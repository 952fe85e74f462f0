"""The passages that a search looks at more closely: found by meaning, by words, or by both.

Of each only what ranks it is read. The rest is read for those that are shown: a hundred texts with
their surroundings cost several times what finding them does.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from heddle_knowledge.collection.types import Mode
from heddle_knowledge.embedders.embedding import Vectors
from heddle_knowledge.engines.conditions import Condition
from heddle_knowledge.engines.interface import DISTANCE, KEY, SCORE, Table

_COSINE = "_cosine"
_IDENTITY = ("document", "ordinal", "ingested_at")
LONGEST_TEXT_QUERY = 2_000
"""Characters; every word of it is a list to merge."""

Identity = tuple[str, int, int]
"""The identity of a passage: its document, its ordinal and the time of the ingestion."""


class PassagesChangedError(Exception):
    """A document has changed since its passages were found."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Passages, each once, in the order of their documents' names and their ordinals.

    Attributes:
        keys: Where they are, for the moment, shape [n].
        cosine: Their similarity with the question, -1 to 1, shape [n].
        words: Their BM25, 0 where no word fits, shape [n].
        columns: What else was asked for, a row for each; empty if nothing was.
        identities: What they are, if they are not in memory.
    """

    keys: NDArray[np.int64]
    cosine: NDArray[np.float32]
    words: NDArray[np.float32]
    columns: Sequence[dict[str, Any]] = ()
    identities: Sequence[Identity] = ()


@dataclass(frozen=True, slots=True)
class CandidateQuery:
    """The candidates of a question.

    Attributes:
        words: The question, in the forms of the index of words.
        vector: The same as a vector of length 1, shape [dim].
        count: At most so many by meaning, and as many by words.
        mode: By which of the two.
        where: Which passages may be found.
        columns: What to read of each besides; few and narrow ones.
    """

    words: str
    vector: Vectors
    count: int
    mode: Mode
    where: Condition
    columns: Sequence[str] = ()


class Searched(Protocol):
    """What a collection is searched in: its table, or a copy of it in memory."""

    async def find(self, query: CandidateQuery) -> Candidates:
        """Find candidates of documents as they are now."""

    async def read(
        self, candidates: Candidates, chosen: Sequence[int], columns: Sequence[str]
    ) -> list[dict[str, Any]]:
        """Read columns of some candidates, by their places in `candidates`, in that order.

        Raises:
            PassagesChangedError: A document has changed since: search again.
        """


@dataclass(frozen=True, slots=True)
class SearchedTable:
    """The table of a collection, searched by its engine."""

    table: Table

    async def find(self, query: CandidateQuery) -> Candidates:
        """Find candidates."""
        columns = [*_IDENTITY, *query.columns, KEY]
        searches = []
        if query.mode != "text":
            searches.append(self._by_meaning(query, columns))
        if query.mode != "vector":
            searches.append(self._by_words(query, columns))
        matches = pa.concat_tables(await asyncio.gather(*searches), promote_options="default")
        identities = _identities(matches)
        distinct = _distinct(identities, matches.column(SCORE).is_valid().to_pylist())
        rows = matches.take(pa.array(distinct, pa.int64()))
        return Candidates(
            keys=rows.column(KEY).to_numpy(),
            cosine=np.clip(_numbers(rows, _COSINE), -1.0, 1.0),
            words=_numbers(rows, SCORE),
            columns=rows.select(list(query.columns)).to_pylist() if query.columns else (),
            identities=[identities[at] for at in distinct],
        )

    async def read(
        self, candidates: Candidates, chosen: Sequence[int], columns: Sequence[str]
    ) -> list[dict[str, Any]]:
        """Read columns of some candidates."""
        column_names = [*_IDENTITY, *(name for name in columns if name not in _IDENTITY)]
        rows = await self.table.at([int(candidates.keys[at]) for at in chosen], column_names)
        by_identity = dict(zip(_identities(rows), rows.to_pylist(), strict=True))
        try:
            return [by_identity[candidates.identities[at]] for at in chosen]
        except KeyError as error:
            raise PassagesChangedError from error

    async def _by_meaning(self, query: CandidateQuery, columns: Sequence[str]) -> pa.Table:
        matches = await self.table.nearest(query.vector, columns, query.where, query.count)
        cosine = np.subtract(1.0, matches.column(DISTANCE).to_numpy(), dtype=np.float32)
        matches = matches.drop_columns(DISTANCE).append_column(_COSINE, pa.array(cosine))
        return matches.append_column(SCORE, pa.nulls(matches.num_rows, pa.float32()))

    async def _by_words(self, query: CandidateQuery, columns: Sequence[str]) -> pa.Table:
        """Find by words; the cosine of the passages is computed here."""
        words, vector = query.words[:LONGEST_TEXT_QUERY], query.vector
        with_vector = [*columns, "vector"]
        matches = await self.table.matching(words, with_vector, query.where, query.count)
        cosine = pa.array(vectors_of(matches, len(vector)) @ vector, pa.float32())
        return matches.drop_columns("vector").append_column(_COSINE, cosine)


def vectors_of(rows: pa.Table, dimension: int) -> Vectors:
    """Return the vectors of rows, shape [rows, dimension]."""
    flat = rows.column("vector").combine_chunks().flatten().to_numpy(zero_copy_only=False)
    vectors: Vectors = flat.reshape(-1, dimension)
    return vectors


def _distinct(identities: Sequence[Identity], scored: Sequence[bool]) -> list[int]:
    """Return the rows to keep, in the order of their identities: each passage once.

    The two searches may have seen the table at two moments. A document that was replaced between
    them is taken as it is now, so that no answer mixes its versions.
    """
    newest: dict[str, int] = {}
    for document, _, ingested_at in identities:
        newest[document] = max(newest.get(document, 0), ingested_at)
    distinct_rows: dict[Identity, int] = {}
    for at, identity in enumerate(identities):
        if identity[2] == newest[identity[0]] and (identity not in distinct_rows or scored[at]):
            distinct_rows[identity] = at
    return [distinct_rows[identity] for identity in sorted(distinct_rows)]


def _identities(rows: pa.Table) -> list[Identity]:
    return list(zip(*(rows.column(name).to_pylist() for name in _IDENTITY), strict=True))


def _numbers(rows: pa.Table, column: str) -> NDArray[np.float32]:
    numbers: NDArray[np.float32] = rows.column(column).fill_null(0.0).to_numpy()
    return numbers.astype(np.float32)
