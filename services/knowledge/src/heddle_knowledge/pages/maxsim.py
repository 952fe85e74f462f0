"""Late interaction: how well each word of a question is met by some word of a page."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from heddle_knowledge.embedders.embedding import Vectors


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
