"""Finds passages: by meaning, by words, or by both.

Cosine is computed here for every candidate, so that one found by its words alone is judged by its
meaning too, and an approximate index below changes no score. `ranking` makes one order of the two.
"""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heddle_knowledge.collection.tables import PASSAGE_COLUMNS, passage
from heddle_knowledge.collection.types import Passage
from heddle_knowledge.errors import StorageError
from heddle_knowledge.searching.candidates import (
    Candidates,
    PassagesChangedError,
    Question,
    Searched,
)
from heddle_knowledge.searching.ranking import BEST, Reranker, Scores, aged, convex, reranked
from heddle_knowledge.searching.repeated import Shown

_FEWEST_CANDIDATES = 50
_CANDIDATES_PER_RESULT = 4
# Documents may be replaced, or put in order, while a search goes on.
_ATTEMPTS = 10
_TIME = "document_time"
_TEXT = "text"


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
        StorageError: Documents change faster than they can be searched.
    """
    count = max(_FEWEST_CANDIDATES, top_k * _CANDIDATES_PER_RESULT)
    for _ in range(_ATTEMPTS):
        try:
            candidates = await searched.find(question, count)
            return await _best_passages(candidates, question, top_k, threshold)
        except PassagesChangedError:
            searched = await anew()
    raise StorageError("The documents of the collection change too fast. Search it again.")


async def _best_passages(
    candidates: Candidates, question: Question, top_k: int, threshold: float
) -> list[Passage]:
    relevance = await _relevance(candidates, question)
    ordered = _best_first(relevance)
    if threshold and question.mode != "text":
        ordered = ordered[candidates.cosine[ordered] >= threshold]
    shown: list[tuple[int, dict[str, Any]]] = []
    texts, start = Shown(), 0
    while start < len(ordered) and len(shown) < top_k:
        some = ordered[start : start + top_k - len(shown)].tolist()
        start += len(some)
        rows = candidates.read(some, PASSAGE_COLUMNS)
        shown += [each for each in zip(some, rows, strict=True) if texts.is_new(each[1][_TEXT])]
    at = [place for place, _ in shown]
    cosine, words = candidates.cosine[at].tolist(), candidates.words[at].tolist()
    by_meaning = _ranks(candidates.cosine)[at].tolist()
    by_words = _ranks(candidates.words)[at].tolist()
    rows = [row for _, row in shown]
    scored = zip(rows, cosine, relevance[at].tolist(), by_meaning, by_words, words, strict=True)
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
        times = [row[_TIME] for row in candidates.read(range(len(relevance)), [_TIME])]
        relevance = aged(relevance, times, options.recency_weight, datetime.now(UTC))
    return relevance


async def _reranked(
    candidates: Candidates, relevance: Scores, query: str, reranker: Reranker
) -> Scores:
    best = _best_first(relevance)[:BEST].tolist()
    texts = [row[_TEXT] for row in candidates.read(best, [_TEXT])]
    scores = await reranker.rerank(query, texts)
    return reranked(relevance, scores, best)


def _best_first(scores: Scores) -> NDArray[np.int64]:
    """Return the places of scores, the highest first; equal ones stay in their order."""
    return np.argsort(-scores, kind="stable")


def _ranks(scores: Scores) -> NDArray[np.int64]:
    """Return the rank of each score, the highest 1."""
    ranks = np.empty(len(scores), dtype=np.int64)
    ranks[_best_first(scores)] = np.arange(1, len(scores) + 1)
    return ranks
