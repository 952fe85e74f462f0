"""The process that embeds texts: `python -m heddle_knowledge.embedders.worker`."""

import os
from functools import cache

from heddle_knowledge.embedders.local_embedders import (
    FOREGROUND,
    PRIORITY,
    EmbedRequest,
    load_model,
)
from heddle_knowledge.errors import EmbeddingError
from heddle_knowledge.workers.serving import NICE, serve

_MEMORY = 4 * 1024**3
"""Bytes of addresses. The largest request needs 1.2 GB."""
_model = cache(load_model)


def main() -> None:
    """Embed what the service sends, until it goes."""
    serve(
        _embedded,
        EmbedRequest,
        refusal=EmbeddingError,
        memory_bytes=_MEMORY,
        nice=0 if os.environ.get(PRIORITY) == FOREGROUND else NICE,
    )


def _embedded(request: EmbedRequest) -> bytes:
    return _model(request.model).embed(request.texts, request.kind).tobytes()


if __name__ == "__main__":
    main()
