"""The process that embeds passages: `python -m heddle_knowledge.embedders.worker`."""

from functools import cache

from heddle_knowledge.embedders.local_embedders import (
    EmbedReply,
    EmbedRequest,
    load_minilm,
    load_model,
)
from heddle_knowledge.errors import EmbeddingError
from heddle_knowledge.searching.late_interaction import packed
from heddle_knowledge.workers.serving import serve

_MEMORY = 4 * 1024**3
"""Bytes of addresses. The largest request needs 1.2 GB."""
_model = cache(load_model)
_word_model = cache(load_minilm)


def main() -> None:
    """Embed what the service sends, until it goes."""
    serve(_embedded, EmbedRequest, refusal=EmbeddingError, memory_bytes=_MEMORY)


def _embedded(request: EmbedRequest) -> EmbedReply:
    if not request.words:
        vectors = _model(request.model).embed(request.texts, "passage")
        return EmbedReply(vectors.tobytes())
    vectors, words = _word_model().embed_words(request.texts)
    return EmbedReply(vectors.tobytes(), [packed(each) for each in words])


if __name__ == "__main__":
    main()
