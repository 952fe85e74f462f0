"""The passages that a search looks at more closely: found by meaning, by words, or by both."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from heddle_knowledge.collection.tables import PASSAGE_COLUMNS
from heddle_knowledge.collection.types import Mode, SearchOptions
from heddle_knowledge.embedders.embedding import Vectors
from heddle_knowledge.engines.conditions import Condition
from heddle_knowledge.engines.interface import DISTANCE, SCORE, Table
from heddle_knowledge.searching.ranking import Reranker

_COSINE = "_cosine"
_COLUMNS = (*PASSAGE_COLUMNS, "ingested_at")
_IDENTITY = ("document", "ordinal", "ingested_at")
_LONGEST_TEXT_QUERY = 2_000
"""Characters; every word of it is a list to merge."""

Identity = tuple[str, int, int]
"""The identity of a passage: its document, its ordinal and the time of the ingestion."""
Read = Callable[[Sequence[int], Sequence[str]], list[dict[str, Any]]]
"""Returns columns of some candidates, by their places, in that order."""


class PassagesChangedError(Exception):
    """The documents have changed during a search."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Passages, each once, in the order of their documents' names and their ordinals.

    Attributes:
        cosine: Their similarity with the question, -1 to 1, shape [n].
        words: Their BM25, 0 where no word fits, shape [n].
        read: Returns what else is known of them.
    """

    cosine: NDArray[np.float32]
    words: NDArray[np.float32]
    read: Read


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the options of its search.

    Attributes:
        text: The question.
        forms: The same in the forms of the index of words.
        vector: The same as a vector of length 1, shape [dim].
        mode: How candidates are found and ordered.
        options: How they are ordered besides.
        reranker: What `reranking="model"` asks.
        where: Which passages may be found.
    """

    text: str
    forms: str
    vector: Vectors
    mode: Mode
    options: SearchOptions
    reranker: Reranker | None
    where: Condition

    @property
    def words(self) -> str:
        """What is looked for in the index of words."""
        return self.forms[:_LONGEST_TEXT_QUERY]


class Searched(Protocol):
    """What a collection is searched in: its table, or a copy of it in memory."""

    async def find(self, question: Question, count: int) -> Candidates:
        """Find so many candidates by meaning, and as many by words.

        Raises:
            PassagesChangedError: Documents have changed meanwhile: search again.
        """


@dataclass(frozen=True, slots=True)
class SearchedTable:
    """The table of a collection, searched by its engine."""

    table: Table

    async def find(self, question: Question, count: int) -> Candidates:
        """Find candidates of documents as they are now."""
        searches = []
        if question.mode != "text":
            searches.append(self._by_meaning(question, count))
        if question.mode != "vector":
            searches.append(self._by_words(question, count))
        matches = pa.concat_tables(await asyncio.gather(*searches), promote_options="default")
        rows = matches.take(pa.array(_distinct(matches), pa.int64()))

        def read(places: Sequence[int], columns: Sequence[str]) -> list[dict[str, Any]]:
            chosen = rows.select(list(columns)).take(pa.array(places, pa.int64()))
            return list(chosen.to_pylist())

        cosine = np.clip(_numbers(rows, _COSINE), -1.0, 1.0)
        return Candidates(cosine, _numbers(rows, SCORE), read)

    async def _by_meaning(self, question: Question, count: int) -> pa.Table:
        matches = await self.table.nearest(question.vector, _COLUMNS, question.where, count)
        cosine = np.subtract(1.0, matches.column(DISTANCE).to_numpy(), dtype=np.float32)
        matches = matches.drop_columns(DISTANCE).append_column(_COSINE, pa.array(cosine))
        return matches.append_column(SCORE, pa.nulls(matches.num_rows, pa.float32()))

    async def _by_words(self, question: Question, count: int) -> pa.Table:
        """Find by words; the cosine of the passages is computed here."""
        with_vector, vector = [*_COLUMNS, "vector"], question.vector
        matches = await self.table.matching(question.words, with_vector, question.where, count)
        cosine = pa.array(vectors_of(matches, len(vector)) @ vector, pa.float32())
        return matches.drop_columns("vector").append_column(_COSINE, cosine)


def vectors_of(rows: pa.Table, dimension: int) -> Vectors:
    """Return the vectors of rows, shape [rows, dimension]."""
    flat = rows.column("vector").combine_chunks().flatten().to_numpy(zero_copy_only=False)
    vectors: Vectors = flat.reshape(-1, dimension)
    return vectors


def _distinct(matches: pa.Table) -> list[int]:
    """Return the rows to keep, in the order of their identities: each passage once.

    The two searches may have seen the table at two moments. A document that was replaced between
    them is taken as it is now, so that no answer mixes its versions.
    """
    identities = list(zip(*(matches.column(name).to_pylist() for name in _IDENTITY), strict=True))
    scored = matches.column(SCORE).is_valid().to_pylist()
    newest: dict[str, int] = {}
    for document, _, ingested_at in identities:
        newest[document] = max(newest.get(document, 0), ingested_at)
    distinct_rows: dict[Identity, int] = {}
    for at, identity in enumerate(identities):
        if identity[2] == newest[identity[0]] and (identity not in distinct_rows or scored[at]):
            distinct_rows[identity] = at
    return [distinct_rows[identity] for identity in sorted(distinct_rows)]


def _numbers(rows: pa.Table, column: str) -> NDArray[np.float32]:
    numbers: NDArray[np.float32] = rows.column(column).fill_null(0.0).to_numpy()
    return numbers.astype(np.float32)
