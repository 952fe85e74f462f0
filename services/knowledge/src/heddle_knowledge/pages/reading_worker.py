"""The process that reads pages and embeds their words.

`python -m heddle_knowledge.pages.reading_worker`
"""

import logging

import msgspec
import numpy as np

from heddle_knowledge.errors import EmbeddingError
from heddle_knowledge.pages.limits import limit_memory
from heddle_knowledge.pages.reading import read_page
from heddle_knowledge.pages.recognition import Recogniser
from heddle_knowledge.pages.rendering import open_pdf
from heddle_knowledge.pages.requests import (
    PagesReply,
    PagesRequest,
    Request,
    WordsReply,
    WordsRequest,
)
from heddle_knowledge.pages.word_vectors import WordMiniLm
from heddle_knowledge.workers.frames import serve

_MEMORY = 4 * 1024**3  # the models alone have 1.2 GB of addresses


def main() -> None:
    """Read what the service sends, until it goes. Models are loaded when they are needed first."""
    limit_memory(_MEMORY)
    logging.disable(logging.INFO)  # the libraries tell every step
    recogniser: Recogniser | None = None
    model: WordMiniLm | None = None

    def handle(payload: bytes) -> bytes:
        nonlocal recogniser, model
        request = msgspec.msgpack.decode(payload, type=Request)
        try:
            if isinstance(request, WordsRequest):
                model = model or WordMiniLm()
                return msgspec.msgpack.encode(_embedded(request, model))
            if not isinstance(request, PagesRequest):
                raise TypeError(type(request).__name__)
            recogniser = recogniser or Recogniser()
            return msgspec.msgpack.encode(_read(request, recogniser))
        except EmbeddingError as error:
            if isinstance(request, WordsRequest):
                return msgspec.msgpack.encode(WordsReply(error=str(error)))
            return msgspec.msgpack.encode(PagesReply(error=str(error)))

    serve(handle)


def _read(request: PagesRequest, recogniser: Recogniser) -> PagesReply:
    with open_pdf(request.data) as document:
        return PagesReply([read_page(document, number, recogniser) for number in request.numbers])


def _embedded(request: WordsRequest, model: WordMiniLm) -> WordsReply:
    found = (model.of_page(text) for text in request.texts)
    return WordsReply([vectors.astype(np.float16).tobytes() for vectors in found])


if __name__ == "__main__":
    main()
