"""The process that reads pages and embeds their words.

`python -m heddle_knowledge.pages.reading_worker`
"""

import logging

import numpy as np

from heddle_knowledge.errors import EmbeddingError
from heddle_knowledge.pages.reading import read_page
from heddle_knowledge.pages.recognition import Recogniser
from heddle_knowledge.pages.rendering import open_pdf
from heddle_knowledge.pages.requests import (
    PagesReply,
    PagesRequest,
    WordsReply,
    WordsRequest,
)
from heddle_knowledge.pages.word_vectors import WordMiniLm
from heddle_knowledge.workers.serving import serve

_MEMORY = 4 * 1024**3  # the models alone have 1.2 GB of addresses


def main() -> None:
    """Read what the service sends, until it goes. Models are loaded when they are needed first."""
    logging.disable(logging.INFO)  # the libraries tell every step
    recogniser: Recogniser | None = None
    model: WordMiniLm | None = None

    def answer(request: PagesRequest | WordsRequest) -> PagesReply | WordsReply:
        nonlocal recogniser, model
        if isinstance(request, WordsRequest):
            model = model or WordMiniLm()
            return _embedded(request, model)
        recogniser = recogniser or Recogniser()
        return _read(request, recogniser)

    serve(answer, PagesRequest | WordsRequest, refusal=EmbeddingError, memory_bytes=_MEMORY)


def _read(request: PagesRequest, recogniser: Recogniser) -> PagesReply:
    with open_pdf(request.data) as document:
        return PagesReply([read_page(document, number, recogniser) for number in request.numbers])


def _embedded(request: WordsRequest, model: WordMiniLm) -> WordsReply:
    found = (model.of_page(text) for text in request.texts)
    return WordsReply([vectors.astype(np.float16).tobytes() for vectors in found])


if __name__ == "__main__":
    main()
