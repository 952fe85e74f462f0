"""Ranks pages for a question: a few by their words and by their mean, then all of these exactly.

Models that do not see rank better together with BM25 over what was read. The score of a page does
not depend on the other pages that a search finds, so scores of different questions can be compared;
docs/adr/0034 tells how it was chosen.
"""

import asyncio
import re
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from heddle_knowledge.embedders.embedding import Vectors, unit
from heddle_knowledge.pages.maxsim import maxsim
from heddle_knowledge.pages.models import PageModelInfo
from heddle_knowledge.pages.page_search import PageSearch
from heddle_knowledge.pages.shapes import RankedPage, StoredPage

_BY_WORDS = 50
_BY_MEANING = 50
_SEEN = 200  # whose BM25 counts, if they were found by their mean
_INTERACTION = 0.5
"""The weight of late interaction; words have the rest."""
_CONTENTS = 0.5
"""The weight of a table of contents: it contains every title and answers nothing."""
_LEADER = re.compile(r"(?:\. ?){4,}\s*[0-9ivxlc]+\s*$", re.MULTILINE)


async def rank(
    search: PageSearch,
    query: str,
    words: Vectors,
    model: PageModelInfo,
    only: Collection[str] | None = None,
) -> list[RankedPage]:
    """Return at most 100 pages, the best first.

    Args:
        search: Where to look.
        query: The question.
        words: Its vectors, shape [any, dim].
        model: What made them, and those of the pages.
        only: The documents by their SHA-256; None for all.
    """
    question = await search.question(query)
    matching = await search.matching(question, _SEEN, only)
    candidate_ids = set(list(matching)[:_BY_WORDS])
    if len(words):
        mean = unit(words.mean(axis=0))
        candidate_ids.update(await search.nearest(mean, _BY_MEANING, only))
    pages = await search.read(candidate_ids, model.dim)
    if not pages:
        return []
    by_id = None
    if not model.visual:
        by_id = await search.matched_words(question, [page.id for page in pages])
    return await asyncio.to_thread(_ranked, pages, words, by_id)


def _ranked(
    pages: Sequence[StoredPage], words: Vectors, by_id: Mapping[int, float] | None
) -> list[RankedPage]:
    scores = np.maximum(maxsim(words, [page.words for page in pages]), 0.0)
    if by_id is not None:
        matched = np.array([by_id.get(page.id, 0.0) for page in pages], dtype=np.float32)
        blended = _INTERACTION * scores + (1 - _INTERACTION) * matched / (1 + matched)
        scores = blended * np.array([_worth(page.text) for page in pages], dtype=np.float32)
    best = sorted(range(len(pages)), key=lambda at: (-scores[at], pages[at].sha256, pages[at].page))
    return [RankedPage(pages[at], float(scores[at])) for at in best]


def _worth(text: str) -> float:
    lines = [line for line in text.splitlines() if line.strip()]
    leaders = len(_LEADER.findall(text))
    return _CONTENTS if lines and leaders > 0.3 * len(lines) else 1.0
