"""Vectors of the words of a page, for late interaction.

MiniLM was trained on passages of 256 tokens, so a page is read in windows of that size. What is
kept is the mean of every two neighbours: it halves the room and costs 0.007 nDCG@10 on the pages
of three manuals (`benchmarks/pages`).
"""

import numpy as np

from heddle_knowledge.embedders.embedding import DIMENSION, TOKENS, Vectors, unit
from heddle_knowledge.embedders.minilm import MiniLm

MOST_TOKENS = 1_024
"""Tokens of a page that are read; a full page of prose has some 800."""
MOST_VECTORS = 512
"""The maximum number of stored vectors of a page."""
_POOLED = MOST_TOKENS // MOST_VECTORS
_WINDOW = TOKENS - 2  # the model wants a mark before and after
_CHARACTERS = 16_384  # far more than 1,024 tokens of any text


class WordMiniLm(MiniLm):
    """The model, asked for its tokens' vectors instead of their mean."""

    def __init__(self) -> None:
        super().__init__()
        self._tokenizer.no_truncation()

    def of_query(self, text: str) -> Vectors:
        """Return a vector for each of a question's first 254 tokens."""
        return self._words(text, _WINDOW)

    def of_page(self, text: str) -> Vectors:
        """Return at most 512 vectors for a page's first 1,024 tokens, none for a blank page."""
        return pooled(self._words(text, MOST_TOKENS), _POOLED)

    def _words(self, text: str, most: int) -> Vectors:
        encoding = self._tokenizer.encode(text[:_CHARACTERS])
        first, *ids, last = encoding.ids
        ids = ids[:most]
        if not ids:
            return np.empty((0, DIMENSION), dtype=np.float32)
        windows = -(-len(ids) // _WINDOW)
        size = -(-len(ids) // windows)  # of about the same size, so that none is a stub
        hidden = [
            self._run([[first, *ids[start : start + size], last]])[0][1:-1]
            for start in range(0, len(ids), size)
        ]
        return unit(np.concatenate(hidden))


def pooled(vectors: Vectors, every: int) -> Vectors:
    """Return the mean of every so many neighbours, scaled to length 1."""
    if not len(vectors):
        return vectors
    starts = np.arange(0, len(vectors), every)
    return unit(np.add.reduceat(vectors, starts, axis=0))
