"""Orders candidates: cosine similarity and BM25 become one number; docs/adr/0031 has figures."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float32]

BEST = 50
"""The number of passages to reorder."""
_HALF_LIFE = 180.0  # days


class Reranker(Protocol):
    """A model that reads a question together with each passage."""

    async def rerank(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a score for each text as an answer, the higher the better: shape [len(texts)].

        Raises:
            EmbeddingError: The model is not available.
        """


def convex(cosine: Scores, words: Scores, vector_weight: float) -> Scores:
    """Combine the scores of candidates by a fixed weight.

    Args:
        cosine: Their similarity with the question, shape [n].
        words: Their BM25, 0 where no word fits, shape [n].
        vector_weight: How much the similarity counts, 0 to 1; BM25 counts the rest.

    Returns:
        Numbers of 0 to 1, shape [n].
    """
    fused: Scores = vector_weight * spread(cosine) + (1 - vector_weight) * spread(words, floor=0.0)
    return fused.astype(np.float32)


def aged(relevance: Scores, times: Sequence[int], weight: float, now: datetime) -> Scores:
    """Let relevance fade with age: times 1 - weight + weight * 0.5 ^ (age in days / 180).

    Args:
        relevance: Shape [n]. Numbers below 0 stay: they could only rise.
        times: Of the documents, in microseconds since 1970, UTC; what lies ahead is of now.
        weight: 0 to 1.
        now: An aware time.
    """
    microseconds = now.timestamp() * 1e6 - np.array(times, dtype=np.float64)
    days = np.maximum(microseconds, 0) / 86_400e6
    fading = 1 - weight + weight * 0.5 ** (days / _HALF_LIFE)
    return np.where(relevance > 0, relevance * fading, relevance).astype(np.float32)


def reranked(relevance: Scores, anew: Scores, best: Sequence[int]) -> Scores:
    """Reorder the best candidates; the others stay behind them, in their order.

    Args:
        relevance: The relevance of all candidates, shape [n].
        anew: Another judgement of the best, shape [len(best)].
        best: Their places in `relevance`, at least one, and none of the others is more relevant.
    """
    # What is behind gets numbers of at most 0, what is chosen at least 0.
    result: Scores = relevance - relevance[list(best)].min()
    result[list(best)] = spread(anew)
    return result


def spread(scores: Scores, *, floor: float | None = None) -> Scores:
    """Bring scores to 0..1: the lowest (or the floor) becomes 0, the highest 1, equal ones 1."""
    if not len(scores):
        return scores
    low = float(scores.min()) if floor is None else floor
    width = float(scores.max()) - low
    if width <= 0:
        return np.full_like(scores, 0.0 if floor is not None else 1.0)
    scaled: Scores = (scores - low) / width
    return scaled
