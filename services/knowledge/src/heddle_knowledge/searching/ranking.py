"""Orders candidates: cosine similarity and BM25 become one number.

How much meaning and words count depends on the question. Words are the better judge when the text
quotes the question, as with titles, codes and names; meaning is when the text answers it in words
of its own. So the weight of words grows with the part of the question that the best passages by
words quote, and a passage that quotes it counts more. Quoted means: two words in a row, as they
are written; that needs no stop words and no language. Where no spaces are written, characters are
words. docs/adr/0031 and 0041 tell how the numbers below were found.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from heddle_knowledge.engines.languages import UNSPACED

Scores = NDArray[np.float32]

LOOKED_AT = 10
"""The number of candidates, the best by words, whose text is read."""

_MEANING = 0.92  # how much meaning counts where nothing is quoted
_QUOTED = 0.45  # how much less where all of the question is quoted
_CLEAR = 0.15  # how much less where no second passage comes near the first by words
_LONG = 0.15  # how much less for a question of so many words that one vector cannot tell it all:
_LONG_WORDS = 100
_QUOTED_BY = 3  # the best passages by words, whose quotations move the weight
_BONUS = 0.5  # on the BM25 of a passage that quotes all of the question
_HALF_LIFE = 180.0  # days
_RANK_OFFSET = 60.0  # of reciprocal rank fusion, as its authors chose it
_WORD = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]+")


def quotation(query: str, text: str) -> float:
    """Return the part of a question's pairs of neighbouring words that a text has, 0 to 1.

    Of a single word, whether the text has it.
    """
    query_words = _WORD.findall(query.lower())
    words = _WORD.findall(text.lower())
    if len(query_words) < 2:  # noqa: PLR2004 (a pair)
        return float(bool(query_words) and query_words[0] in words)
    pairs = set(pairwise(query_words))
    return len(pairs.intersection(pairwise(words))) / len(pairs)


def adaptive(query: str, cosine: Scores, words: Scores, quoted: Scores) -> Scores:
    """Combine the scores of candidates with the weight that suits the question.

    Args:
        query: The question.
        cosine: Their similarity with the question, shape [n].
        words: Their BM25, 0 where no word fits, shape [n].
        quoted: Their `quotation`, where it was looked at, else 0, shape [n].

    Returns:
        Numbers of 0 to 1, shape [n].
    """
    best = np.argsort(-words, kind="stable")[:_QUOTED_BY]
    weight = _MEANING - _QUOTED * float(quoted[best].max(initial=0.0)) ** 3
    if len(best) > 1 and words[best[0]] > 0:
        weight -= _CLEAR * float(1 - words[best[1]] / words[best[0]])
    weight -= _LONG * min(1.0, len(_WORD.findall(query)) / _LONG_WORDS)
    return convex(cosine, words * (1 + _BONUS * quoted**2), weight)


def convex(cosine: Scores, words: Scores, vector_weight: float) -> Scores:
    """Combine scores by a fixed weight of meaning, each brought to 0..1 over the candidates."""
    fused: Scores = vector_weight * spread(cosine) + (1 - vector_weight) * spread(words, floor=0.0)
    return fused.astype(np.float32)


def reciprocal_rank(cosine: Scores, words: Scores, vector_weight: float) -> Scores:
    """Combine places: what is first by both gets 1; no place by words where no word fits."""
    by_meaning = 1 / (_RANK_OFFSET + _places(cosine))
    by_words = np.where(words > 0, 1 / (_RANK_OFFSET + _places(words)), 0.0)
    fused = (1 + _RANK_OFFSET) * (vector_weight * by_meaning + (1 - vector_weight) * by_words)
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


def reranked(relevance: Scores, anew: Scores, best: Sequence[int], blend: float) -> Scores:
    """Reorder the best candidates; the others stay behind them, in their order.

    Args:
        relevance: The relevance of all candidates, shape [n].
        anew: Another judgement of the best, shape [len(best)].
        best: Their places in `relevance`, at least one, and none of the others is more relevant.
        blend: How much the new judgement counts; the old one counts the rest.
    """
    chosen = list(best)
    low = float(relevance[chosen].min())
    width = float(relevance[chosen].max()) - low
    # What is behind gets numbers of at most 0, what is chosen at least 0.
    scaled = (relevance - low) / width if width > 0 else np.minimum(relevance - low, 0)
    result = np.asarray(scaled, dtype=np.float32)
    result[chosen] = (1 - blend) * result[chosen] + blend * spread(anew)
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


def _places(scores: Scores) -> NDArray[np.float64]:
    """Return the place of each score, counted from 1; the highest is first, equals share one."""
    falling = np.sort(scores)[::-1]
    before: NDArray[np.float64] = np.searchsorted(-falling, -scores).astype(np.float64)
    return before + 1
