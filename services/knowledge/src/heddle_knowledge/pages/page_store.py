"""The pages of all collections of a store: made at ingestion, shown, searched, and put away."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np

from heddle_knowledge.errors import (
    EmbedderMismatchError,
    StorageError,
    UnsuitableCollectionError,
)
from heddle_knowledge.locks import exclusive, exclusive_if_free
from heddle_knowledge.pages.models import PageModel
from heddle_knowledge.pages.packages import installed
from heddle_knowledge.pages.page_database import PageDatabase
from heddle_knowledge.pages.ranking import rank
from heddle_knowledge.pages.reader import PageReader
from heddle_knowledge.pages.recognition import INSTALL
from heddle_knowledge.pages.shapes import REVISION, RankedPage
from heddle_knowledge.records import Collection as Record
from heddle_knowledge.records import IngestProgress

MAX_PAGES = 5_000
"""Pages of one document that are drawn; a PDF with more is refused when its text is taken."""
_PAGES_PER_REQUEST = 8
_ENDING = ".pages"
ResultT = TypeVar("ResultT")
ParametersT = ParamSpec("ParametersT")


class PageStore:
    """Keeps pages in a folder: a file for each collection, and locks."""

    def __init__(self, folder: Path, reader: PageReader, model: PageModel) -> None:
        """Use a folder, which is made when the first page comes; nothing is started."""
        self._folder = folder
        self._reader = reader
        self._model = model
        self._page_databases: dict[str, PageDatabase] = {}

    def check(self, handling: str) -> None:
        """Refuse a handling of pages that this installation is not up to.

        Raises:
            UnsuitableCollectionError: The packages that it takes are not installed.
        """
        if handling == "search" and not installed():
            raise UnsuitableCollectionError(
                f"Pages cannot be read here, so they cannot be searched. {INSTALL}"
            )

    @asynccontextmanager
    async def holding(self, collection: Record, sha256: str) -> AsyncGenerator[None]:
        """Keep the pages of a document from being swept while it is ingested.

        Two ingestions of the same content take turns, and the second finds all done.
        """
        await self._in_thread(self._folder.mkdir, parents=True, exist_ok=True)
        # The lock's file goes with the pages.
        async with exclusive(self._lock(collection.id, sha256)):
            yield

    async def bring(
        self, collection: Record, data: bytes, sha256: str
    ) -> AsyncGenerator[IngestProgress]:
        """Make the pages of a PDF that are not there yet; the document must be held.

        Yields:
            Progress. What cannot be opened has no pages; a page that cannot be drawn has no
            picture.

        Raises:
            EmbeddingError: A model is not available.
            StorageError: They cannot be kept.
        """
        page_database = self._page_database(collection.id)
        maker = self._maker(collection)
        if await self._in_thread(page_database.is_whole, sha256, maker):
            return
        count = _pages_to_draw(await self._reader.count(data))
        if not count:
            return
        missing = await self._in_thread(page_database.expect, sha256, maker, count)
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
                words = await self._model.embed_pages(pages)
            else:
                pages = await self._reader.draw(data, numbers)
                words = [np.empty((0, 0), np.float16)] * len(pages)
            await self._in_thread(page_database.add, sha256, pages, words)
        if not await self._in_thread(page_database.finish, sha256):
            raise StorageError("The pages were put away while they came in. Ingest it again.")

    async def read(
        self,
        collection: Record,
        method: Callable[Concatenate[PageDatabase, ParametersT], ResultT],
        *arguments: ParametersT.args,
        **named: ParametersT.kwargs,
    ) -> ResultT:
        """Return what a method of `PageDatabase` returns for the pages of a collection.

        Raises:
            StorageError: They cannot be read.
        """
        page_database = self._page_database(collection.id)
        return await self._in_thread(method, page_database, *arguments, **named)

    async def search(
        self, collection: Record, query: str, only: Collection[str] | None = None
    ) -> list[RankedPage]:
        """Return at most 100 pages for a question, the best first; none for a blank one.

        Args:
            collection: Where to look.
            query: The question.
            only: Of which documents, each a SHA-256; None for all.

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
        page_database = self._page_database(collection.id)
        if others := await self._in_thread(page_database.makers) - {self._maker(collection)}:
            raise EmbedderMismatchError(
                f"Pages of the collection {collection.name!r} were read by another model or "
                f"version ({', '.join(sorted(others))}) than the one configured now "
                f"({self._maker(collection)}). Configure the former, or ingest its documents again."
            )
        words = await self._model.embed_query(query)
        return await self._in_thread(rank, page_database, query, words, self._model.info(), only)

    @property
    def model(self) -> PageModel:
        """What ranks pages."""
        return self._model

    async def sweep(
        self, collection: Record, current: Callable[[], Awaitable[Collection[str]]]
    ) -> None:
        """Drop the pages of documents that are gone and that no request ingests.

        Args:
            collection: Whose.
            current: Returns the SHA-256 of every document of the collection. It is called after the
                pages were listed, so that the pages of new documents stay.
        """
        page_database = self._page_database(collection.id)
        pages = set(await self._in_thread(page_database.documents))
        gone = pages - set(await current()) if pages else pages
        for sha256 in gone:
            lock = self._lock(collection.id, sha256)
            async with exclusive_if_free(lock) as free:
                if free:
                    await self._in_thread(page_database.forget, [sha256])
                    lock.unlink(missing_ok=True)

    async def drop(self, collection_id: str) -> None:
        """Delete all pages of a collection."""
        await self._in_thread(self._page_database(collection_id).remove)
        await self._in_thread(_unlink, self._folder, f"{collection_id}.*.held")
        self._page_databases.pop(collection_id, None)

    async def sweep_collections(self, known: Callable[[], Awaitable[Collection[str]]]) -> None:
        """Delete the pages of collections that are gone.

        Args:
            known: Tells the ids of the collections. Asked after the folder was read, so that a new
                collection is not taken for one that is gone.
        """
        paths = await self._in_thread(lambda: list(self._folder.glob(f"*{_ENDING}")))
        ids = {path.name.removesuffix(_ENDING) for path in paths}
        for gone in ids - set(await known()):
            await self.drop(gone)

    def _page_database(self, collection_id: str) -> PageDatabase:
        if collection_id not in self._page_databases:
            self._page_databases[collection_id] = PageDatabase(
                self._folder / f"{collection_id}{_ENDING}"
            )
        return self._page_databases[collection_id]

    def _lock(self, collection_id: str, sha256: str) -> Path:
        return self._folder / f"{collection_id}.{sha256}.held"

    def _maker(self, collection: Record) -> str:
        """Return all that pages depend on besides the document."""
        by = [str(REVISION), collection.page_handling]
        if collection.page_handling == "search":
            model = self._model.info()
            by += [model.name, model.revision, str(model.dim)]
        return " ".join(by)

    async def _in_thread(
        self,
        work: Callable[ParametersT, ResultT],
        *arguments: ParametersT.args,
        **named: ParametersT.kwargs,
    ) -> ResultT:
        try:
            return await asyncio.to_thread(work, *arguments, **named)
        except (sqlite3.Error, OSError) as error:
            raise StorageError(
                "The pages of a collection could not be read or written. Check the store's "
                "directory: free space, permissions, and the log of the knowledge service."
            ) from error


def _pages_to_draw(count: int) -> int:
    """Return how many pages of a document are drawn: all, or none if it has too many."""
    return count if count <= MAX_PAGES else 0


def _unlink(folder: Path, pattern: str) -> None:
    for path in folder.glob(pattern):
        path.unlink(missing_ok=True)
