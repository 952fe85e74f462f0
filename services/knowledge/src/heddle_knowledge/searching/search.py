"""Finds passages: by meaning, by words, or by both.

Cosine is computed here for every candidate, so that one found by its words alone is judged by its
meaning too, and an approximate index below changes no score. `ranking` makes one order of the two.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heddle_knowledge.collection.tables import PASSAGE_COLUMNS, passage
from heddle_knowledge.collection.types import Mode, Passage, SearchOptions
from heddle_knowledge.embedders.embedding import Vectors
from heddle_knowledge.engines.conditions import Condition
from heddle_knowledge.engines.word_forms import word_forms
from heddle_knowledge.errors import StorageError
from heddle_knowledge.searching.candidates import (
    CandidateQuery,
    Candidates,
    PassagesChangedError,
    Searched,
)
from heddle_knowledge.searching.ranking import BEST, Reranker, Scores, aged, convex, reranked
from heddle_knowledge.searching.repeated import Shown

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


async def find(
    searched: Searched,
    question: Question,
    *,
    anew: Callable[[], Awaitable[Searched]],
    top_k: int,
    threshold: float,
) -> list[Passage]:
    """Search one collection.

    Args:
        searched: What to search.
        question: The question.
        anew: Returns the same as it is now, once it has changed.
        top_k: At most so many passages.
        threshold: Leave out passages whose cosine similarity is lower; 0 leaves out none, and so
            does any in the mode `text`.

    Returns:
        Passages, the most relevant first; of several that say the same, the first.

    Raises:
        StorageError: Documents change faster than their passages can be read.
    """
    query = CandidateQuery(
        word_forms(question.text, question.language),
        question.vector,
        max(_FEWEST_CANDIDATES, top_k * _CANDIDATES_PER_RESULT),
        question.mode,
        question.where,
        question.ranked_by,
    )
    for _ in range(_ATTEMPTS):
        try:
            return await _find_passages(searched, question, query, top_k, threshold)
        except PassagesChangedError:
            searched = await anew()
    raise StorageError("The documents of the collection change too fast. Search it again.")


async def _find_passages(
    searched: Searched, question: Question, query: CandidateQuery, top_k: int, threshold: float
) -> list[Passage]:
    candidates = await searched.find(query)
    relevance = await _relevance(candidates, question)
    ordered = _best_first(relevance)
    if threshold and question.mode != "text":
        ordered = ordered[candidates.cosine[ordered] >= threshold]
    shown: list[int] = []
    rows: list[dict[str, Any]] = []
    texts, start = Shown(), 0
    while start < len(ordered) and len(shown) < top_k:
        some = ordered[start : start + top_k - len(shown)].tolist()
        start += len(some)
        read = await searched.read(candidates, some, PASSAGE_COLUMNS)
        new = [(at, row) for at, row in zip(some, read, strict=True) if texts.is_new(row[_TEXT])]
        shown += [at for at, _ in new]
        rows += [row for _, row in new]
    by_meaning, cosine = _ranks(candidates.cosine)[shown].tolist(), candidates.cosine[shown]
    by_words, words = _ranks(candidates.words)[shown].tolist(), candidates.words[shown].tolist()
    scored = zip(
        rows, cosine.tolist(), relevance[shown].tolist(), by_meaning, by_words, words, strict=True
    )
    return [
        passage(
            row,
            score,
            relevant,
            vector_rank if question.mode != "text" else None,
            *((text_rank, text_score) if text_score > 0 else (None, None)),
        )
        for row, score, relevant, vector_rank, text_rank, text_score in scored
    ]


async def _relevance(candidates: Candidates, question: Question) -> Scores:
    options = question.options
    if question.mode == "vector":
        relevance = candidates.cosine
    elif question.mode == "text":
        relevance = candidates.words
    else:
        relevance = convex(candidates.cosine, candidates.words, options.vector_weight)
    if options.reranking == "model" and question.reranker is not None and len(relevance):
        relevance = await _reranked(candidates, relevance, question.text, question.reranker)
    if options.recency_weight:
        times = [row[_TIME] for row in candidates.columns]
        relevance = aged(relevance, times, options.recency_weight, datetime.now(UTC))
    return relevance


async def _reranked(
    candidates: Candidates, relevance: Scores, query: str, reranker: Reranker
) -> Scores:
    best = _best_first(relevance)[:BEST].tolist()
    scores = await reranker.rerank(query, [candidates.columns[at][_TEXT] for at in best])
    return reranked(relevance, scores, best)


def _best_first(scores: Scores) -> NDArray[np.int64]:
    """Return the places of scores, the highest first; equal ones stay in their order."""
    return np.argsort(-scores, kind="stable")


def _ranks(scores: Scores) -> NDArray[np.int64]:
    """Return the rank of each score, the highest 1."""
    ranks = np.empty(len(scores), dtype=np.int64)
    ranks[_best_first(scores)] = np.arange(1, len(scores) + 1)
    return ranks
