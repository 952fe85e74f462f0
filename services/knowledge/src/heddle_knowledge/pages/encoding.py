"""Encodes parts of a page for databases."""

import hashlib

import numpy as np
from numpy.typing import NDArray


def digest(picture: bytes) -> str:
    """Return the SHA-256 of a picture, in hexadecimal; empty if there is none."""
    return hashlib.sha256(picture).hexdigest() if picture else ""


def summary(words: NDArray[np.float16]) -> NDArray[np.float16]:
    """Return the mean of a page's vectors at length 1; nothing for a page without."""
    if not len(words):
        return np.empty(0, np.float16)
    mean = words.astype(np.float32).mean(axis=0)
    scaled: NDArray[np.float16] = (mean / max(np.linalg.norm(mean), 1e-12)).astype(np.float16)
    return scaled


def written_words(words: NDArray[np.float16]) -> bytes:
    """Write the vectors of a page's words."""
    return np.ascontiguousarray(words, dtype=np.float16).tobytes()


def read_words(data: bytes, dim: int) -> NDArray[np.float16]:
    """Read the vectors of a page's words, shape [any, dim]; of no page without words is a dim."""
    return np.frombuffer(data, np.float16).reshape(-1, dim) if dim else np.empty((0, 0), np.float16)
