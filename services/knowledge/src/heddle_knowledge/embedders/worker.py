"""The process that embeds texts: `python -m heddle_knowledge.embedders.worker`."""

import os
from functools import cache

import numpy as np

from heddle_knowledge.embedders.late_interaction import packed
from heddle_knowledge.embedders.local_embedders import (
    FOREGROUND,
    PRIORITY,
    EmbedReply,
    EmbedRequest,
    QueryRequest,
    load_minilm,
    load_model,
)
from heddle_knowledge.errors import EmbeddingError
from heddle_knowledge.workers.serving import NICE, serve

_MEMORY = 4 * 1024**3
"""Bytes of addresses. The largest request needs 1.2 GB."""
_model = cache(load_model)
_word_model = cache(load_minilm)


def main() -> None:
    """Embed what the service sends, until it goes."""
    serve(
        _embedded,
        EmbedRequest | QueryRequest,
        refusal=EmbeddingError,
        memory_bytes=_MEMORY,
        nice=0 if os.environ.get(PRIORITY) == FOREGROUND else NICE,
    )


def _embedded(request: EmbedRequest | QueryRequest) -> EmbedReply:
    return _queries(request) if isinstance(request, QueryRequest) else _passages(request)


def _queries(request: QueryRequest) -> EmbedReply:
    if request.words:
        _, words = _word_model().embed_words(request.texts)
        return EmbedReply(np.concatenate(words).tobytes())
    model = _model(request.model)
    # One by one: in company a quantised vector would depend on the other queries.
    vectors = [model.embed([text], "query") for text in request.texts]
    return EmbedReply(np.concatenate(vectors).tobytes())


def _passages(request: EmbedRequest) -> EmbedReply:
    if not request.words:
        vectors = _model(request.model).embed(request.texts, "passage")
        return EmbedReply(vectors.tobytes())
    vectors, words = _word_model().embed_words(request.texts)
    return EmbedReply(vectors.tobytes(), [packed(each) for each in words])


if __name__ == "__main__":
    main()
