"""Finds passages: by meaning, by words, or by both.

Cosine is computed here for every candidate, so that one found by its words alone is judged by its
meaning too, and an approximate index below changes no score. `ranking` makes one order of the two.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from heddle_knowledge.collection.tables import PASSAGE_COLUMNS, passage
from heddle_knowledge.collection.types import Mode, Passage, SearchOptions
from heddle_knowledge.embedders.embedding import Vectors
from heddle_knowledge.engines.conditions import Condition
from heddle_knowledge.engines.interface import Table
from heddle_knowledge.engines.word_forms import word_forms
from heddle_knowledge.errors import StorageError
from heddle_knowledge.searching.candidates import (
    Candidates,
    PassagesChangedError,
    find_candidates,
    read,
)
from heddle_knowledge.searching.ranking import BEST, Reranker, Scores, aged, convex, reranked

_FEWEST_CANDIDATES = 50
_CANDIDATES_PER_RESULT = 4
# Documents may be replaced, or put in order, between two reads of a search.
_ATTEMPTS = 10
_TIME = "document_time"
_TEXT = "text"


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the options of its search.

    Attributes:
        text: The question.
        vector: The same as a vector of length 1, shape [dim].
        mode: How candidates are found and ordered.
        options: How they are ordered besides.
        reranker: What `reranking="model"` asks.
        where: Which passages may be found.
        language: That of the collection.
    """

    text: str
    vector: Vectors
    mode: Mode
    options: SearchOptions
    reranker: Reranker | None
    where: Condition
    language: str

    @property
    def ranked_by(self) -> tuple[str, ...]:
        """The columns that are read of every candidate, besides vectors and scores."""
        ages = (_TIME,) if self.options.recency_weight else ()
        texts = (_TEXT,) if self.options.reranking == "model" else ()
        return ages + texts


async def find(table: Table, question: Question, *, top_k: int, threshold: float) -> list[Passage]:
    """Search one table.

    Args:
        table: The table of a collection.
        question: The question.
        top_k: At most so many passages.
        threshold: Leave out passages whose cosine similarity is lower; 0 leaves out none, and so
            does any in the mode `text`.

    Returns:
        Passages, the most relevant first.

    Raises:
        StorageError: Documents change faster than their passages can be read.
    """
    for _ in range(_ATTEMPTS):
        with suppress(PassagesChangedError):
            return await _find_passages(table, question, top_k, threshold)
    raise StorageError("The documents of the collection change too fast. Search it again.")


async def _find_passages(
    table: Table, question: Question, top_k: int, threshold: float
) -> list[Passage]:
    candidates = await find_candidates(
        table,
        word_forms(question.text, question.language),
        question.vector,
        count=max(_FEWEST_CANDIDATES, top_k * _CANDIDATES_PER_RESULT),
        mode=question.mode,
        where=question.where,
        columns=question.ranked_by,
    )
    if not len(candidates):
        return []
    relevance = await _relevance(candidates, question)
    shown = [
        at
        for at in _best_first(candidates, relevance)
        if not threshold or question.mode == "text" or candidates.cosine[at] >= threshold
    ][:top_k]
    rows = await read(table, candidates, shown, PASSAGE_COLUMNS)
    passages = [
        passage(row, candidates.cosine[at], relevance[at])
        for row, at in zip(rows, shown, strict=True)
    ]
    return _with_ranks(passages, candidates, shown, question.mode)


def _with_ranks(
    passages: list[Passage], candidates: Candidates, shown: list[int], mode: Mode
) -> list[Passage]:
    by_meaning = _places(candidates, candidates.cosine) if mode != "text" else {}
    by_words = _places(candidates, candidates.words, only=candidates.words > 0)
    return [
        replace(
            each,
            vector_rank=by_meaning.get(at),
            text_rank=by_words.get(at),
            text_score=float(candidates.words[at]) if at in by_words else None,
        )
        for each, at in zip(passages, shown, strict=True)
    ]


def _places(
    candidates: Candidates, scores: Scores, only: NDArray[np.bool_] | None = None
) -> dict[int, int]:
    ordered = _best_first(candidates, scores)
    selected = [at for at in ordered if only is None or only[at]]
    return {at: place for place, at in enumerate(selected, 1)}


async def _relevance(candidates: Candidates, question: Question) -> Scores:
    options = question.options
    if question.mode == "vector":
        relevance = candidates.cosine
    elif question.mode == "text":
        relevance = candidates.words
    else:
        relevance = convex(candidates.cosine, candidates.words, options.vector_weight)
    if options.reranking == "model" and question.reranker is not None:
        relevance = await _reranked(candidates, relevance, question.text, question.reranker)
    if options.recency_weight:
        times = [row[_TIME] for row in candidates.columns]
        relevance = aged(relevance, times, options.recency_weight, datetime.now(UTC))
    return relevance


async def _reranked(
    candidates: Candidates, relevance: Scores, query: str, reranker: Reranker
) -> Scores:
    best = _best_first(candidates, relevance)[:BEST]
    scores = await reranker.rerank(query, [candidates.columns[at][_TEXT] for at in best])
    return reranked(relevance, scores, best)


def _best_first(candidates: Candidates, relevance: NDArray[np.float32]) -> list[int]:
    return sorted(
        range(len(candidates)), key=lambda at: (-relevance[at], candidates.identities[at])
    )
