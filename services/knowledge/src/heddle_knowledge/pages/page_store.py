"""The pages of all collections of a store: made at ingestion, shown, searched, and put away."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence

import numpy as np

from heddle_knowledge.collection.types import Collection as Record
from heddle_knowledge.collection.types import IngestProgress
from heddle_knowledge.errors import (
    EmbedderMismatchError,
    StorageError,
    UnsuitableCollectionError,
)
from heddle_knowledge.pages.models import PageModel
from heddle_knowledge.pages.packages import installed
from heddle_knowledge.pages.page_place import PagePlace
from heddle_knowledge.pages.ranking import rank
from heddle_knowledge.pages.reader import PageReader
from heddle_knowledge.pages.recognition import INSTALL
from heddle_knowledge.pages.shapes import REVISION, RankedPage

MAX_PAGES = 5_000
"""The maximum number of pages of a document to draw; reading refuses a PDF with more."""
_PAGES_PER_REQUEST = 8


class PageStore:
    """Draws pages, and stores them in a place.

    Attributes:
        place: Where they are.
        model: What ranks them.
    """

    def __init__(self, place: PagePlace, reader: PageReader, model: PageModel) -> None:
        self.place = place
        self._reader = reader
        self.model = model

    def check(self, handling: str) -> None:
        """Refuse a handling of pages that this installation is not up to.

        Raises:
            UnsuitableCollectionError: The packages that it takes are not installed.
        """
        if handling == "search" and not installed():
            raise UnsuitableCollectionError(
                f"Pages cannot be read here, so they cannot be searched. {INSTALL}"
            )

    async def bring(
        self, collection: Record, data: bytes, sha256: str
    ) -> AsyncGenerator[IngestProgress]:
        """Draw and read the missing pages of a PDF; the document must be held.

        Yields:
            Progress. What cannot be opened has no pages; a page that cannot be drawn has no
            picture.

        Raises:
            EmbeddingError: A model is not available.
            StorageError: They cannot be kept.
        """
        pages_here = self.place.of(collection.id)
        maker = self._maker(collection)
        if await pages_here.is_whole(sha256, maker):
            return
        count = _pages_to_draw(await self._reader.count(data))
        if not count:
            return
        missing = await pages_here.expect(sha256, maker, count)
        if collection.page_handling == "text":
            missing = []
        search = collection.page_handling == "search"
        size = 1 if search else _PAGES_PER_REQUEST
        for start in range(0, len(missing), size):
            done = count - len(missing) + start
            yield IngestProgress("recognising" if search else "drawing", done, count)
            numbers = missing[start : start + size]
            if search:
                pages = await self._reader.read(data, numbers)
                words = await self.model.embed_pages(pages)
            else:
                pages = await self._reader.draw(data, numbers)
                words = [np.empty((0, 0), np.float16)] * len(pages)
            await pages_here.add(sha256, pages, words)
        if not await pages_here.finish(sha256):
            raise StorageError("The pages were put away while they came in. Ingest it again.")

    async def recognise(
        self, data: bytes, numbers: Sequence[int] = ()
    ) -> AsyncGenerator[tuple[IngestProgress, int, str]]:
        """Read pages of a PDF off their pictures, if this installation can.

        Args:
            data: The document.
            numbers: The pages, counted from 1; none of them: all.

        Yields:
            For each page in its order, progress, its number and its text, empty if it shows none.

        Raises:
            EmbeddingError: A model file is not the expected one.
            StorageError: The store is being closed.
        """
        count = _pages_to_draw(await self._reader.count(data)) if installed() else 0
        chosen = (numbers or range(1, count + 1)) if count else ()
        for done, number in enumerate(chosen, start=1):
            pages = await self._reader.read(data, [number])
            progress = IngestProgress("recognising", done, len(chosen))
            yield progress, number, "\n".join(it.text for it in pages)

    async def search(
        self,
        collection: Record,
        query: str,
        matching: Collection[tuple[str, int]] = (),
    ) -> list[RankedPage]:
        """Return pages for a question, the best first; none for a blank one.

        Args:
            collection: The collection.
            query: The question.
            matching: Pages that have words of it, by the SHA-256 of their documents.

        Raises:
            UnsuitableCollectionError: The pages of the collection are not searched.
            EmbedderMismatchError: Another model read them.
            EmbeddingError: The model is not available.
        """
        if collection.page_handling != "search":
            raise UnsuitableCollectionError(
                f"The pages of the collection {collection.name!r} cannot be searched. Make one "
                "with the page handling SEARCH and ingest its documents there."
            )
        if not query.strip():
            return []
        pages_here = self.place.of(collection.id)
        if others := await pages_here.makers() - {self._maker(collection)}:
            raise EmbedderMismatchError(
                f"Pages of the collection {collection.name!r} were read by another model or "
                f"version ({', '.join(sorted(others))}) than the one configured now "
                f"({self._maker(collection)}). Configure the former, or ingest its documents again."
            )
        words = await self.model.embed_query(query)
        return await rank(pages_here.search, query, words, self.model.info(), matching)

    async def sweep(
        self, collection: Record, current: Callable[[], Awaitable[Collection[str]]]
    ) -> None:
        """Delete the pages of documents that are gone and that no request ingests.

        Args:
            collection: The collection.
            current: Returns the SHA-256 of every document of the collection. It is called after the
                pages were listed, and again while no ingestion can add a document, so that the
                pages of new documents stay.
        """
        pages = set(await self.place.of(collection.id).documents())
        gone = pages - set(await current()) if pages else pages
        for sha256 in gone:

            async def is_gone(sha256: str = sha256) -> bool:
                return sha256 not in await current()

            await self.place.forget_unheld(collection.id, sha256, is_gone)

    async def sweep_collections(self, known: Callable[[], Awaitable[Collection[str]]]) -> None:
        """Delete the pages of collections that are gone, and what crashes left behind.

        Args:
            known: Tells the ids of the collections. Asked after the pages were listed, so that a
                new collection is not taken for one that is gone.
        """
        ids = await self.place.collections()
        for gone in ids - set(await known()):
            await self.place.drop(gone)
        await self.place.objects.sweep()

    def _maker(self, collection: Record) -> str:
        """Return all that pages depend on besides the document."""
        by = [str(REVISION), collection.page_handling]
        if collection.page_handling == "search":
            model = self.model.info()
            by += [model.name, model.revision, str(model.dim)]
        return " ".join(by)


def _pages_to_draw(count: int) -> int:
    """Return the number of pages of a document to draw: all, or none if it has too many."""
    return count if count <= MAX_PAGES else 0
