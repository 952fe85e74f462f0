"""What may order the best passages of a search anew."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

BEST = 50
"""So many passages are ordered anew."""


class Reranker(Protocol):
    """A model that reads a question together with each passage."""

    async def rerank(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return how well each text answers: shape [len(texts)], the higher the better.

        Raises:
            EmbeddingError: The model is not available.
        """
