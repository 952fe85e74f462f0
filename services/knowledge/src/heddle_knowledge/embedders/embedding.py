"""Vectors for texts: what the store needs of an embedder, and what its models are called."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Kind = Literal["query", "passage"]
Vectors = NDArray[np.float32]

DIMENSION = 384
"""Numbers in a vector of either model."""
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENS = 256
E5_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
E5_TOKENS = 512
MINILM = "all-MiniLM-L6-v2-int8"
"""For English. The weights are quantised dynamically: a vector moves by about a thousandth with the
company its text keeps in a batch. Cosine similarities are good to two decimals."""
MULTILINGUAL_E5 = "multilingual-e5-small-q4"
"""For about a hundred languages; a third as fast. Its similarities lie close together: about 0.8 is
what nothing has in common."""


@dataclass(frozen=True, slots=True)
class EmbedderInfo:
    """The identity of an embedder; stored with every collection that it fills.

    Attributes:
        model: Its name.
        dim: Numbers in a vector.
        revision: Changes whenever the same text would get another vector.
        max_tokens: Tokens of a text that it reads; it ignores the rest.
        unrelated: The similarity of texts that have nothing in common.
        threshold: The least `relevance` of the best passage if documents answer a question; 0 if it
            is not known. `benchmarks.retrieval.declining` measures it.
    """

    model: str
    dim: int
    revision: str
    max_tokens: int
    unrelated: float = 0.0
    threshold: float = 0.0


class Embedder(Protocol):
    """Whatever turns texts into vectors."""

    def info(self) -> EmbedderInfo:
        """Return the identity of the embedder."""

    async def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Embed texts: float32 of shape [len(texts), dim], every row of length 1.

        Args:
            texts: Any number.
            kind: Whether they ask or answer; some models embed the two differently.

        Raises:
            EmbeddingError: The model is not available.
        """


class LocalModel(Protocol):
    """A loaded model. One call at a time; it uses one core."""

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Embed texts: shape [len(texts), 384], every row of length 1."""


def unit(vectors: Vectors) -> Vectors:
    """Scale vectors to length 1; one of zeros stays what it is."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Vectors = (vectors / np.maximum(lengths, 1e-12)).astype(np.float32)
    return scaled
