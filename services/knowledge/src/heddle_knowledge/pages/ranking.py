"""Ranks pages for a question: a few by their words and by their mean, then all of these exactly.

Models that do not see rank better together with BM25 over what was read. The score of a page does
not depend on the other pages that a search finds, so scores of different questions can be compared;
docs/adr/0034 tells how it was chosen.
"""

import re
from collections.abc import Collection

import numpy as np

from heddle_knowledge.embedders.embedding import Vectors, unit
from heddle_knowledge.pages.maxsim import maxsim
from heddle_knowledge.pages.models import PageModelInfo
from heddle_knowledge.pages.places import CollectionPages
from heddle_knowledge.pages.shapes import RankedPage

_BY_WORDS = 50
_BY_MEANING = 50
_SEEN = 200  # whose BM25 counts, if they were found by their mean
_INTERACTION = 0.5
"""The weight of late interaction; words have the rest."""
_CONTENTS = 0.5
"""The weight of a table of contents: it contains every title and answers nothing."""
_LEADER = re.compile(r"(?:\. ?){4,}\s*[0-9ivxlc]+\s*$", re.MULTILINE)


def rank(
    collection_pages: CollectionPages,
    query: str,
    words: Vectors,
    model: PageModelInfo,
    only: Collection[str] | None = None,
) -> list[RankedPage]:
    """Return at most 100 pages, the best first.

    Args:
        collection_pages: Where to look.
        query: The question.
        words: Its vectors, shape [any, dim].
        model: What made them, and those of the pages.
        only: The documents by their SHA-256; None for all.
    """
    matching = collection_pages.matching(query, _SEEN, only)
    candidate_ids = set(list(matching)[:_BY_WORDS])
    if len(words):
        mean = unit(words.mean(axis=0))
        candidate_ids.update(collection_pages.nearest(mean, _BY_MEANING, only))
    pages = collection_pages.read(candidate_ids, model.dim)
    if not pages:
        return []
    scores = np.maximum(maxsim(words, [page.words for page in pages]), 0.0)
    if not model.visual:
        by_id = collection_pages.matched_words(query, [page.id for page in pages])
        matched = np.array([by_id.get(page.id, 0.0) for page in pages], dtype=np.float32)
        blended = _INTERACTION * scores + (1 - _INTERACTION) * matched / (1 + matched)
        scores = blended * np.array([_worth(page.text) for page in pages], dtype=np.float32)
    best = sorted(range(len(pages)), key=lambda at: (-scores[at], pages[at].sha256, pages[at].page))
    return [RankedPage(pages[at], float(scores[at])) for at in best]


def _worth(text: str) -> float:
    lines = [line for line in text.splitlines() if line.strip()]
    leaders = len(_LEADER.findall(text))
    return _CONTENTS if lines and leaders > 0.3 * len(lines) else 1.0
