"""The pages of a store: found, shown."""

from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import TypeVar

from heddle_knowledge.collection.tables import documents_of, passages_of_pages
from heddle_knowledge.collection.types import Document
from heddle_knowledge.errors import DocumentNotFoundError
from heddle_knowledge.pages.collection_pages import CollectionPages
from heddle_knowledge.pages.models import PageModelInfo
from heddle_knowledge.pages.shapes import LONGEST_TEXT, DrawnPage, ListedPage, Picture, RankedPage
from heddle_knowledge.store.context import StoreContext
from heddle_knowledge.store.documents import Documents
from heddle_knowledge.store.passages import Passages

ResultT = TypeVar("ResultT")
_MATCHING = 50
"""The number of passages whose pages are candidates for their words."""


class Pages:
    """The pages of the documents of all embedded collections.

    Every method that takes a collection raises `CollectionNotFoundError` if there is none, and
    `ForeignBackendError` if another backend holds it.
    """

    def __init__(self, context: StoreContext, documents: Documents, passages: Passages) -> None:
        self._context = context
        self._documents = documents
        self._passages = passages

    @property
    def model(self) -> PageModelInfo:
        """The identity of the model that ranks pages."""
        return self._context.pages.model.info()

    async def search(
        self, collection: str, query: str, *, top_k: int
    ) -> list[tuple[Document, RankedPage]]:
        """Find pages for a question, by late interaction over all that stands on them.

        Args:
            collection: Where to look; one whose page handling is `search`.
            query: The question; its first 254 tokens count.
            top_k: At most so many pages, 50 at most.

        Returns:
            Documents as they are now, each with its page, the best first; none for a blank query.

        Raises:
            UnsuitableCollectionError: Its pages are not searched.
            EmbedderMismatchError: Another model read its pages.
            EmbeddingError: The model is not available.
        """
        handle = await self._context.open(collection)
        query = query.encode(errors="replace").decode()
        matching: set[tuple[str, int]] = set()
        if handle.collection.page_handling == "search" and not self.model.visual:
            passages = await self._passages.search(collection, query, top_k=_MATCHING, mode="text")
            matching = {(each.sha256, each.page) for each in passages if each.page}
        ranked = await self._context.pages.search(handle.collection, query, matching=matching)
        async with handle.using():
            contents = {page.stored.sha256 for page in ranked}
            current = await documents_of(handle.table, contents)
        matches = [
            (document, page)
            for page in ranked
            for document in current
            if document.sha256 == page.stored.sha256
        ]
        return matches[:top_k]

    async def picture(self, collection: str, name: str, page: int) -> Picture:
        """Return the picture of a page of a document, counted from 1.

        Raises:
            DocumentNotFoundError: There is no such document, or no picture of the page.
        """
        return await self._stored(
            collection, name, page, lambda pages, sha256: pages.picture(sha256, page)
        )

    async def get(self, collection: str, name: str, page: int) -> DrawnPage:
        """Return a page of a document, counted from 1, without its picture.

        Raises:
            DocumentNotFoundError: There is no such document, or the page is not stored.
        """
        return await self._stored(
            collection, name, page, lambda pages, sha256: pages.page(sha256, page)
        )

    async def listed(
        self, collection: str, document: Document, first: int, last: int
    ) -> list[ListedPage]:
        """Return pages of a document.

        Args:
            collection: The collection.
            document: As `Documents.get` returned it.
            first: The first page, counted from 1.
            last: The last page.
        """
        handle = await self._context.open(collection)
        here = self._context.pages.place.of(handle.collection.id)
        stored = await here.listed(document.sha256, first, last)
        texts: dict[int, list[str]] = defaultdict(list)
        async with handle.using():
            for passage in await passages_of_pages(handle.table, document, first, last):
                texts[passage.page or 0].append(passage.text)
        pages = []
        for number in range(first, last + 1):
            text, has_picture = stored.get(number, ("", False))
            text = text or "\n\n".join(texts[number])[:LONGEST_TEXT]
            pages.append(ListedPage(number, text, has_picture, len(texts[number])))
        return pages

    async def count_pictures(self, collection: str) -> int:
        """Return the number of pages of an embedded collection with a picture."""
        handle = await self._context.open(collection)
        return await self._context.pages.place.of(handle.collection.id).count_pictures()

    async def _stored(
        self,
        collection: str,
        name: str,
        page: int,
        read: Callable[[CollectionPages, str], Awaitable[ResultT | None]],
    ) -> ResultT:
        document = await self._documents.get(collection, name)
        handle = await self._context.open(collection)
        stored = await read(self._context.pages.place.of(handle.collection.id), document.sha256)
        if stored is None:
            raise DocumentNotFoundError(
                f"There is no picture of page {page} of the document {name!r}."
            )
        return stored
