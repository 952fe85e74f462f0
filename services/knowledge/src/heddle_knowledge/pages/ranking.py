"""Ranks pages for a question: candidates by their words and by their mean, then these exactly.

Models that do not see rank better together with the words of the question that a page has. Words
count as rare by the candidates, so nothing else has to be known of a collection. docs/adr/0034 has
figures.
"""

import asyncio
import math
import re
from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from heddle_knowledge.embedders.embedding import Vectors, unit
from heddle_knowledge.pages.models import PageModelInfo
from heddle_knowledge.pages.page_search import PageSearch
from heddle_knowledge.pages.shapes import RankedPage, StoredPage

_BY_MEANING = 50
_INTERACTION = 0.5
"""The weight of late interaction; words have the rest."""
_MOST_WORDS = 64
_RAREST = 3
"""The number of rare words of a question that define its subject; sentences have many others."""
_CONTENTS = 0.5
"""The weight of a table of contents: it contains every title and answers nothing."""
_LEADER = re.compile(r"(?:\. ?){4,}\s*[0-9ivxlc]+\s*$", re.MULTILINE)
_WORD = re.compile(r"[^\W_]+")


async def rank(
    search: PageSearch,
    query: str,
    words: Vectors,
    model: PageModelInfo,
    matching: Collection[tuple[str, int]] = (),
) -> list[RankedPage]:
    """Return the candidates, the best first.

    Args:
        search: Where to look.
        query: The question.
        words: Its vectors, shape [any, dim].
        model: What made them, and those of the pages.
        matching: Further candidates, documents by their SHA-256, and pages.
    """
    nearest: list[int] = []
    if len(words):
        nearest = await search.nearest(unit(words.mean(axis=0)), _BY_MEANING)
    pages = await search.read(nearest, matching, model.dim)
    return await asyncio.to_thread(_ranked, pages, words, "" if model.visual else query)


def _ranked(pages: Sequence[StoredPage], words: Vectors, query: str) -> list[RankedPage]:
    """Rank pages; with an empty query, by late interaction alone."""
    scores = np.maximum(maxsim(words, [page.words for page in pages]), 0.0)
    if query and pages:
        matched = matched_words(query, [page.text for page in pages])
        blended = _INTERACTION * scores + (1 - _INTERACTION) * matched / (1 + matched)
        scores = blended * np.array([_worth(page.text) for page in pages], dtype=np.float32)
    best = sorted(range(len(pages)), key=lambda at: (-scores[at], pages[at].sha256, pages[at].page))
    return [RankedPage(pages[at], float(scores[at])) for at in best]


def maxsim(query: Vectors, texts: Sequence[NDArray[np.floating]]) -> NDArray[np.float32]:
    """Score texts exactly.

    Args:
        query: Vectors of the question's words, each of length 1, shape [words, dim].
        texts: Of each page its words, shape [any, dim]; float16 will do.

    Returns:
        For each text the mean over the question's words of the greatest scalar product with a word
        of the text, which is -1.0 to 1.0 for vectors of length 1; -1.0 for one without words.
    """
    scores = np.full(len(texts), -1.0, dtype=np.float32)
    written = [at for at, text in enumerate(texts) if len(text)]
    if not written or not len(query):
        return scores
    words = np.concatenate([texts[at] for at in written]).astype(np.float32)
    starts = np.cumsum([0, *(len(texts[at]) for at in written[:-1])])
    best = np.maximum.reduceat(query @ words.T, starts, axis=1)
    scores[written] = best.mean(axis=0)
    return np.clip(scores, -1.0, 1.0)


def matched_words(query: str, texts: Sequence[str]) -> NDArray[np.float32]:
    """Return how well texts match the words of a question: their BM25 among these texts.

    1 stands for the three rarest words, each once in a text of average length.
    """
    question_words = list(dict.fromkeys(_WORD.findall(query.lower())))[:_MOST_WORDS]
    counts = [Counter(_WORD.findall(text.lower())) for text in texts]
    having = {word: sum(word in each for each in counts) for word in question_words}
    weights = {
        word: math.log1p((len(texts) - each + 0.5) / (each + 0.5))
        for word, each in having.items()
        if each
    }
    if not weights:
        return np.zeros(len(texts), np.float32)
    # A word that no text has weighs as much as the others do on average.
    unknown = [sum(weights.values()) / len(weights)] * (len(question_words) - len(weights))
    rarest = sum(sorted([*weights.values(), *unknown])[-_RAREST:])
    sizes = [each.total() for each in counts]
    mean = sum(sizes) / len(sizes)
    sums = [
        sum(weight * _saturated(each[word], size / mean) for word, weight in weights.items())
        for each, size in zip(counts, sizes, strict=True)
    ]
    return np.array(sums, dtype=np.float32) / np.float32(rarest)


def _saturated(times: int, length: float) -> float:
    return times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length))


def _worth(text: str) -> float:
    lines = [line for line in text.splitlines() if line.strip()]
    leaders = len(_LEADER.findall(text))
    return _CONTENTS if lines and leaders > 0.3 * len(lines) else 1.0
