"""The processes that draw and read pages, seen from the service."""

from collections.abc import Sequence
from typing import TypeVar

import msgspec
import numpy as np
import structlog
from numpy.typing import NDArray

from heddle_knowledge.embedders.embedding import DIMENSION
from heddle_knowledge.errors import EmbeddingError, StorageError
from heddle_knowledge.pages.shapes import DrawnPage
from heddle_knowledge.workers.worker import WorkerFailedError, WorkerProcess

ReplyT = TypeVar("ReplyT")
_DRAWING = "heddle_knowledge.pages.rendering_worker"
_READING = "heddle_knowledge.pages.reading_worker"
_DRAWING_SECONDS = 60.0  # for a few pages, each of which takes a tenth of one
_READING_SECONDS = 180.0  # for one page, which takes twelve at most on a quiet core
log = structlog.get_logger(__name__)


class CountRequest(msgspec.Struct, frozen=True, tag="count"):
    """Count the pages of a PDF; the reply is 0 if it cannot be opened."""

    data: bytes


class PagesRequest(msgspec.Struct, frozen=True, tag="pages"):
    """Draw pages of a PDF, counted from 1; the reading process reads them, too."""

    data: bytes
    numbers: list[int]


class WordsRequest(msgspec.Struct, frozen=True, tag="words"):
    """Embed the words of texts; the reply is, for each text, float16 vectors row after row."""

    texts: list[str]


class PageReader:
    """Draws and reads pages at low priority. Its processes start when they are needed first."""

    def __init__(self, *, drawing_seconds: float = _DRAWING_SECONDS) -> None:
        """Prepare, without starting anything; the seconds bound one request to draw."""
        self.drawing = WorkerProcess(_DRAWING, seconds=drawing_seconds)
        self._reading = WorkerProcess(
            _READING,
            seconds=_READING_SECONDS,
            refusal=EmbeddingError,
            environment={"OPENBLAS_NUM_THREADS": "1"},
        )

    async def count(self, data: bytes) -> int:
        """Return the number of pages of a PDF; 0 of what cannot be opened.

        Raises:
            StorageError: The store is being closed.
        """
        try:
            return await _call_reader(self.drawing, CountRequest(data), int)
        except WorkerFailedError:
            return 0  # whoever takes its text will say what is wrong with it

    async def draw(self, data: bytes, numbers: Sequence[int]) -> list[DrawnPage]:
        """Draw pages of a PDF, counted from 1.

        Raises:
            StorageError: The store is being closed.
        """
        return await self._pages(self.drawing, data, numbers)

    async def read(self, data: bytes, numbers: Sequence[int]) -> list[DrawnPage]:
        """Draw pages of a PDF, counted from 1, and read all that stands on them.

        Raises:
            EmbeddingError: A model file is not the expected one.
            StorageError: The store is being closed.
        """
        return await self._pages(self._reading, data, numbers)

    async def words(self, texts: Sequence[str]) -> list[NDArray[np.float16]]:
        """Embed the words of pages: of each text at most 512 vectors of length 1.

        Raises:
            EmbeddingError: A model file is not the expected one, or the process keeps dying.
            StorageError: The store is being closed.
        """
        vectors = await _call_reader(
            self._reading,
            WordsRequest(list(texts)),
            list[bytes],
            failed=EmbeddingError(
                "The process that reads pages failed twice. Check the memory that is free, and "
                "the log of the knowledge service."
            ),
        )
        return [np.frombuffer(it, dtype=np.float16).reshape(-1, DIMENSION) for it in vectors]

    async def aclose(self) -> None:
        """End the processes."""
        await self.drawing.aclose()
        await self._reading.aclose()

    async def _pages(
        self, worker: WorkerProcess, data: bytes, numbers: Sequence[int]
    ) -> list[DrawnPage]:
        try:
            return await _call_reader(worker, PagesRequest(data, list(numbers)), list[DrawnPage])
        except WorkerFailedError:
            if len(numbers) > 1:  # one of them did it; the others shall have their pictures
                return [page for it in numbers for page in await self._pages(worker, data, [it])]
            log.warning("page not drawn: it makes its reader hang or crash", page=numbers[0])
            return [DrawnPage(numbers[0])]


async def _call_reader(
    worker: WorkerProcess,
    request: CountRequest | PagesRequest | WordsRequest,
    reply: type[ReplyT],
    failed: EmbeddingError | None = None,
) -> ReplyT:
    closed = StorageError(
        "The store was closed before the pages were in. Ingest the document again."
    )
    return await worker.call(request, reply, failed=failed, closed=closed)
