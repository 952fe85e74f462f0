"""Spans of embeddings."""

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from heddle_runtime.telemetry import spans

if TYPE_CHECKING:  # loads numpy
    from heddle_knowledge.embedders.embedding import Embedder

VectorsT = TypeVar("VectorsT")


def traced_embedding(
    vectors: "Coroutine[Any, Any, VectorsT]", embedder: "Embedder"
) -> "Coroutine[Any, Any, VectorsT]":
    """Return the work of an embedder with a span; the work itself if the request was not drawn."""
    if not spans.is_drawn():
        return vectors
    from heddle_knowledge.embedders.local_embedders import LocalEmbedder  # noqa: PLC0415 (slow)

    info, is_local = embedder.info(), isinstance(embedder, LocalEmbedder)
    return spans.traced_call(
        vectors,
        f"embeddings {info.model}",
        "INTERNAL" if is_local else "CLIENT",
        lambda: {
            "gen_ai.operation.name": "embeddings",
            "gen_ai.request.model": info.model,
            "gen_ai.embeddings.dimension.count": info.dim,
        },
    )
