"""The process that reads pages and embeds their words.

`python -m heddle_knowledge.pages.reading_worker`
"""

import logging
from functools import cache

import numpy as np

from heddle_knowledge.errors import EmbeddingError
from heddle_knowledge.pages.reader import PagesRequest, WordsRequest
from heddle_knowledge.pages.reading import read_page
from heddle_knowledge.pages.recognition import Recogniser
from heddle_knowledge.pages.rendering import open_pdf
from heddle_knowledge.pages.shapes import DrawnPage
from heddle_knowledge.pages.word_vectors import WordMiniLm
from heddle_knowledge.workers.serving import serve

_MEMORY = 4 * 1024**3  # the models alone have 1.2 GB of addresses
# Models are loaded when they are first needed.
_recogniser = cache(Recogniser)
_model = cache(WordMiniLm)


def main() -> None:
    """Read what the service sends, until it goes."""
    logging.disable(logging.INFO)  # the libraries log every step
    serve(_answer, PagesRequest | WordsRequest, refusal=EmbeddingError, memory_bytes=_MEMORY)


def _answer(request: PagesRequest | WordsRequest) -> list[DrawnPage] | list[bytes]:
    if isinstance(request, WordsRequest):
        vectors = map(_model().of_page, request.texts)
        return [each.astype(np.float16).tobytes() for each in vectors]
    recogniser = _recogniser()
    with open_pdf(request.data) as document:
        return [read_page(document, number, recogniser) for number in request.numbers]


if __name__ == "__main__":
    main()
