"""An embedder for tests of what stands on the store: instant, deterministic, without a model."""

import re
import zlib
from collections.abc import Sequence

import numpy as np
from heddle_knowledge.embedders.embedding import EmbedderInfo, Kind, Vectors

_WORD = re.compile(r"\w+")


class HashingEmbedder:
    """Texts that share words are near each other; it knows nothing of meaning."""

    def __init__(self, *, dim: int = 64, revision: str = "1", model: str = "hashed-words") -> None:
        """Make one with vectors of `dim` numbers; embedders of two revisions do not match."""
        self._info = EmbedderInfo(model, dim, revision, max_tokens=1_000_000)
        self.embedded = 0
        """Passages embedded so far."""

    def info(self) -> EmbedderInfo:
        """Return what identifies it."""
        return self._info

    async def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Embed texts: each word adds to one of the numbers, chosen by its checksum."""
        if kind == "passage":
            self.embedded += len(texts)
        vectors = np.full((len(texts), self._info.dim), 1e-3, dtype=np.float32)
        for row, text in enumerate(texts):
            for word in _WORD.findall(text.lower()):
                vectors[row, zlib.crc32(word.encode()) % self._info.dim] += 1.0
        scaled: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return scaled
