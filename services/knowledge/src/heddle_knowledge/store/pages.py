"""The pages of a store: found, shown."""

from heddle_knowledge.engines.conditions import EVERYTHING, Condition
from heddle_knowledge.errors import DocumentNotFoundError
from heddle_knowledge.pages.models import PageModelInfo
from heddle_knowledge.pages.shapes import DrawnPage, Picture
from heddle_knowledge.records import MatchedPage
from heddle_knowledge.store.context import StoreContext, check_count
from heddle_knowledge.store.documents import Documents
from heddle_knowledge.tables import all_contents, documents_of


class Pages:
    """The pages of the documents of all embedded collections."""

    def __init__(self, context: StoreContext, documents: Documents) -> None:
        """Use what the store works with, and its documents."""
        self._context = context
        self._documents = documents

    @property
    def model(self) -> PageModelInfo:
        """What ranks pages."""
        return self._context.pages.model.info()

    async def search(
        self, collection: str, query: str, *, top_k: int, where: Condition = EVERYTHING
    ) -> list[MatchedPage]:
        """Find pages for a question, by late interaction over all that stands on them.

        Args:
            collection: Where to look; one whose page handling is `search`.
            query: The question; its first 254 tokens count.
            top_k: At most so many pages, 1 to 100.
            where: Of which documents.

        Returns:
            Pages of documents as they are now, the best first; none for a blank query.

        Raises:
            CollectionNotFoundError: There is no such collection.
            ForeignBackendError: Another backend holds it.
            UnsuitableCollectionError: Its pages are not searched.
            EmbedderMismatchError: Another model read its pages.
            EmbeddingError: The model is not available.
        """
        check_count("top_k", top_k)
        handle = await self._context.open(collection)
        query = query.encode(errors="replace").decode()
        only = None
        if where != EVERYTHING:
            async with handle.using():
                only = await all_contents(handle.table, where)
        ranked = await self._context.pages.search(handle.collection, query, only)
        async with handle.using():
            current = await documents_of(handle.table, {page.sha256 for page in ranked}, where)
        found = [
            MatchedPage(document, page)
            for page in ranked
            for document in current
            if document.sha256 == page.sha256
        ]
        return found[:top_k]

    async def picture(self, collection: str, name: str, page: int) -> Picture:
        """Return the picture of a page of a document, counted from 1.

        Raises:
            CollectionNotFoundError: There is no such collection.
            ForeignBackendError: Another backend holds it.
            DocumentNotFoundError: There is no such document, or no picture of the page.
        """
        document = await self._documents.get(collection, name)
        handle = await self._context.open(collection)
        found = await self._context.pages.picture(handle.collection, document.sha256, page)
        if found is None:
            raise _no_page(name, page)
        return found

    async def get(self, collection: str, name: str, page: int) -> DrawnPage:
        """Return what was read on a page of a document, counted from 1, without its picture.

        Raises:
            CollectionNotFoundError: There is no such collection.
            ForeignBackendError: Another backend holds it.
            DocumentNotFoundError: There is no such document, or nothing is kept of the page.
        """
        document = await self._documents.get(collection, name)
        handle = await self._context.open(collection)
        found = await self._context.pages.page(handle.collection, document.sha256, page)
        if found is None:
            raise _no_page(name, page)
        return found

    async def count_pictures(self, collection: str) -> int:
        """Return how many pages of an embedded collection have a picture.

        Raises:
            CollectionNotFoundError: There is no such collection.
            ForeignBackendError: Another backend holds it.
        """
        return await self._context.pages.count_pictures(
            (await self._context.open(collection)).collection
        )


def _no_page(name: str, page: int) -> DocumentNotFoundError:
    return DocumentNotFoundError(f"There is no picture of page {page} of the document {name!r}.")
