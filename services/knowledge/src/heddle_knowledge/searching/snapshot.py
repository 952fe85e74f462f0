"""A copy of a collection's table in memory, as of one version, which is searched exactly."""

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from heddle_knowledge.collection.tables import PASSAGE_COLUMNS
from heddle_knowledge.collection.types import Passage
from heddle_knowledge.embedders.embedding import Vectors
from heddle_knowledge.engines.conditions import EVERYTHING, Condition
from heddle_knowledge.engines.interface import KEY, Table
from heddle_knowledge.searching.candidates import (
    Candidates,
    PassagesChangedError,
    Question,
    vectors_of,
)
from heddle_knowledge.searching.words import WordIndex

COLUMNS = (*PASSAGE_COLUMNS, "indexed", "vector", KEY)
"""The columns of which a copy is made."""
_IN_ORDER = [("document", "ascending"), ("ordinal", "ascending")]
_MAX_FILTERS = 16
_MAX_ANSWERS = 256


class Snapshot:
    """The rows of one version of a table; a passage is named by its place among them."""

    def __init__(self, table: Table, version: int, rows: pa.Table, dim: int, language: str) -> None:
        """Copy rows with `COLUMNS`. Takes some 60 µs for each: not for the event loop.

        Args:
            table: Where they come from, which tells the rows that match a condition.
            version: The version of the table that they are.
            rows: All of its rows.
            dim: Numbers in a vector.
            language: That of the collection.
        """
        rows = rows.take(pc.sort_indices(rows, _IN_ORDER)).combine_chunks()
        self.version = version
        self.language = language
        self._table = table
        self._keys: NDArray[np.int64] = rows.column(KEY).to_numpy().astype(np.int64)
        self._vectors: Vectors = np.array(vectors_of(rows, dim), dtype=np.float32)
        self._words = WordIndex(rows.column("indexed").to_pylist(), language)
        self._columns = {name: rows.column(name).combine_chunks() for name in PASSAGE_COLUMNS}
        self._filters: OrderedDict[Condition, NDArray[np.int64]] = OrderedDict()
        self._answers: OrderedDict[Hashable, Sequence[Passage]] = OrderedDict()
        held = (self._keys, self._vectors, self._words, *self._columns.values())
        self.nbytes = sum(each.nbytes for each in held)
        """Bytes that it needs, without the answers that it keeps."""

    async def find(self, question: Question, count: int) -> Candidates:
        """Find candidates.

        Raises:
            PassagesChangedError: The table has another version by now.
        """
        may = None if question.where == EVERYTHING else await self._matching(question.where)
        cosine = self._vectors @ question.vector
        scores = self._words.scores("" if question.mode == "vector" else question.words)
        scored = scores.nonzero()[0] if may is None else may[scores[may] > 0]
        by_words = _highest(scores, scored, count)
        by_meaning = scored[:0] if question.mode == "text" else _highest(cosine, may, count)
        is_chosen = np.zeros(len(cosine), dtype=bool)
        is_chosen[by_meaning] = is_chosen[by_words] = True
        words = np.zeros(len(cosine), dtype=np.float32)
        words[by_words] = scores[by_words]
        places = is_chosen.nonzero()[0]

        def read(chosen: Sequence[int], columns: Sequence[str]) -> list[dict[str, Any]]:
            return [
                {name: self._columns[name][places[at]].as_py() for name in columns} for at in chosen
            ]

        return Candidates(cosine[places].clip(-1.0, 1.0), words[places], read)

    def answer(self, question: Hashable) -> Sequence[Passage] | None:
        """Return what was found for an equal question."""
        return self._answers.get(question)

    def keep(self, question: Hashable, passages: Sequence[Passage]) -> None:
        """Keep what was found for a question, instead of the oldest if there are many."""
        _put(self._answers, question, passages, _MAX_ANSWERS)

    async def _matching(self, where: Condition) -> NDArray[np.int64]:
        """Return the places of the rows that match a condition; the engine says which, once."""
        if where not in self._filters:
            rows = await self._table.rows([KEY], where)
            if await self._table.version() != self.version:
                raise PassagesChangedError
            matching = np.isin(self._keys, rows.column(KEY).to_numpy())
            _put(self._filters, where, matching.nonzero()[0], _MAX_FILTERS)
        return self._filters[where]


def _highest(
    scores: NDArray[np.float32], places: NDArray[np.int64] | None, count: int
) -> NDArray[np.int64]:
    """Return those of some places, or of all, whose scores are the highest."""
    if places is None:
        places, those = np.arange(len(scores)), scores
    else:
        those = scores[places]
    if len(places) <= count:
        return places
    return places[those.argpartition(-count)[-count:]]


def _put(entries: OrderedDict[Any, Any], key: Hashable, value: object, most: int) -> None:
    entries[key] = value
    if len(entries) > most:
        entries.popitem(last=False)
