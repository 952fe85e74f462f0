"""The hook by which the service adds spans of embeddings. The engine knows no traces."""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # loads numpy
    from heddle_knowledge.embedders.embedding import Embedder, Vectors


def _untraced(
    vectors: "Coroutine[Any, Any, Vectors]", _: "Embedder"
) -> "Coroutine[Any, Any, Vectors]":
    return vectors


traced: "Callable[[Coroutine[Any, Any, Vectors], Embedder], Coroutine[Any, Any, Vectors]]" = (
    _untraced
)
"""Returns the work of an embedder with its span; the service sets it."""
