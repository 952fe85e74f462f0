"""Models that rank pages: their interface, and the one that ships with Heddle."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from heddle_knowledge.embedders.embedding import DIMENSION, MODEL_SHA256, Vectors
from heddle_knowledge.pages.reader import PageReader
from heddle_knowledge.pages.shapes import DrawnPage

if TYPE_CHECKING:  # loads onnxruntime
    from heddle_knowledge.pages.word_vectors import WordMiniLm

LOCAL_MODEL = "minilm-l6-ocr-maxsim"


@dataclass(frozen=True, slots=True)
class PageModelInfo:
    """The identity of a model of pages; stored with every page.

    Attributes:
        name: Its name.
        dim: Numbers in a vector.
        revision: Changes whenever the same page would get other vectors.
        visual: Whether it sees pictures, and not only the words that were read on them.
    """

    name: str
    dim: int
    revision: str
    visual: bool


class PageModel(Protocol):
    """Whatever turns pages and questions into vectors of length 1 for late interaction."""

    def info(self) -> PageModelInfo:
        """Return what identifies it."""

    async def embed_pages(self, pages: Sequence[DrawnPage]) -> list[NDArray[np.float16]]:
        """Embed pages: for each float16 of shape [any, dim]; none for one without content.

        Raises:
            EmbeddingError: The model is not available.
        """

    async def embed_query(self, query: str) -> Vectors:
        """Embed a question: float32 of shape [any, dim].

        Raises:
            EmbeddingError: The model is not available.
        """

    async def aclose(self) -> None:
        """End what it started."""


class OcrPageModel:
    """MiniLM over the words that were read on a page: late interaction that sees no picture."""

    def __init__(self, reader: PageReader) -> None:
        """Use the reading process for pages; it stays the caller's to close."""
        self._reader = reader
        # An answer must not wait until a page is read.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="page-query-embedding")

    def info(self) -> PageModelInfo:
        """Return what identifies it."""
        return PageModelInfo(LOCAL_MODEL, DIMENSION, MODEL_SHA256[:16], visual=False)

    async def embed_pages(self, pages: Sequence[DrawnPage]) -> list[NDArray[np.float16]]:
        """Embed the words of pages; see `PageReader.words`."""
        return await self._reader.words([page.text for page in pages])

    async def embed_query(self, query: str) -> Vectors:
        """Embed the words of a question, in a thread.

        Raises:
            EmbeddingError: A model file is not the expected one.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, lambda: self._model.of_query(query))

    async def aclose(self) -> None:
        """End the thread."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    @cached_property
    def _model(self) -> "WordMiniLm":
        from heddle_knowledge.pages.word_vectors import WordMiniLm  # noqa: PLC0415

        return WordMiniLm()
