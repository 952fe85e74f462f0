"""What the store needs of a model that reads a question and a text together."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Reranker(Protocol):
    """Whatever says how well texts answer a question."""

    async def rerank(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a score for each text, in their order, comparable among themselves only.

        Raises:
            EmbeddingError: The model is not available.
        """
