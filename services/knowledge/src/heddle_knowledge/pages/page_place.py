"""The pages of all collections, in a file or in PostgreSQL, and who may write them."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from pathlib import Path

from heddle_runtime.storage.object_store import ObjectStore
from sqlalchemy import select

from heddle_knowledge.database.leases import Leases
from heddle_knowledge.database.opening import KnowledgeDatabase
from heddle_knowledge.database.row_objects import RowObjects
from heddle_knowledge.database.schema import paged_documents, pages
from heddle_knowledge.files.file_locks import FileLocks
from heddle_knowledge.pages.collection_pages import CollectionPages

_FILE = "pages.db"


@asynccontextmanager
async def open_pages(
    place: str, folder: Path, objects: ObjectStore | None = None
) -> AsyncGenerator["PagePlace"]:
    """Yield the place of pages.

    Args:
        place: Where the collections are; see `engines.address`.
        folder: For pages, unless the collections are in PostgreSQL. It is made by the first page.
        objects: For pictures of pages whose records are in PostgreSQL; without, they are in rows.
    """
    async with aclosing(PagePlace(place, folder, objects)) as opened:
        yield opened


class PagePlace:
    """The pages of all collections. Methods raise `StorageError`."""

    def __init__(self, place: str, folder: Path, objects: ObjectStore | None) -> None:
        self.database = KnowledgeDatabase(place, folder, _FILE)
        """Has the parts of graphs, too."""
        # Of its own: who holds a lease in a transaction opens another one for the pages.
        self._lease_database = KnowledgeDatabase(place, folder, _FILE)
        shared = self.database.shared
        self._lock_folder = folder.absolute() / "locks"
        self._locks = Leases(self._lease_database) if shared else FileLocks(self._lock_folder)
        self.objects = RowObjects(self.database, objects if shared else None, pages)
        """The pictures of pages."""
        self._collections: dict[str, CollectionPages] = {}

    def of(self, collection: str) -> CollectionPages:
        """Return the pages of the collection with an id, if there are any."""
        if collection not in self._collections:
            opened = CollectionPages(self.database, self.objects, collection)
            self._collections[collection] = opened
        return self._collections[collection]

    async def collections(self) -> set[str]:
        """Return the ids of the collections that have pages."""
        if not self.database.exists():
            return set()
        async with self.database.reading() as connection:
            return set(await connection.scalars(select(paged_documents.c.collection).distinct()))

    def holding(self, collection: str, sha256: str) -> AbstractAsyncContextManager[None]:
        """Exclude all others that write the pages of a document; wait for them.

        Two ingestions of the same content take turns, and the second finds all done.
        """
        return self._locks.waited_for(_leased(collection), sha256)

    async def forget_unheld(
        self, collection: str, sha256: str, is_gone: Callable[[], Awaitable[bool]]
    ) -> None:
        """Delete the pages of a document, unless another ingestion holds them.

        Args:
            collection: The collection.
            sha256: The document.
            is_gone: Says whether the document is gone, which is certain while no other ingestion
                holds them.
        """
        async with self._locks.in_transaction(_leased(collection), sha256) as free:
            if free and await is_gone():
                await self.of(collection).forget([sha256])

    async def drop(self, collection: str) -> None:
        """Delete all pages of a collection."""
        dropped = self.of(collection)
        await dropped.forget(await dropped.documents())
        self._collections.pop(collection, None)
        for lock in self._lock_folder.glob(f"{_leased(collection)}.*"):  # of a crash
            lock.unlink(missing_ok=True)

    async def purge(self) -> None:
        """Leave nothing of deleted pages in the file; a database removes deleted rows itself."""
        if not self.database.shared and self.database.exists():
            await self.database.clean_up()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._locks.aclose()
        await self._lease_database.aclose()
        await self.database.aclose()


def _leased(collection: str) -> str:
    """Return the name for locks of pages; those of files of the collection have its id."""
    return f"pages of {collection}"
