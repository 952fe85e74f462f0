"""The interface of models that reorder the best passages of a search."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

BEST = 50
"""The number of passages to reorder."""


class Reranker(Protocol):
    """A model that reads a question together with each passage."""

    async def rerank(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a score for each text as an answer, the higher the better: shape [len(texts)].

        Raises:
            EmbeddingError: The model is not available.
        """
