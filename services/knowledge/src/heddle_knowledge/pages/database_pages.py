"""Pages in PostgreSQL, for all replicas: rows, leases in place of locks, and objects."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from heddle_runtime.storage.object_store import ObjectStore

from heddle_knowledge.database.leases import Leases
from heddle_knowledge.database.opening import KnowledgeDatabase
from heddle_knowledge.pages.page_connections import PageTables
from heddle_knowledge.pages.page_rows import OBJECTS, PageRows
from heddle_knowledge.pages.page_tables import TABLES
from heddle_knowledge.pages.threads import in_thread

_WRITE_TIME = timedelta(hours=1)
"""An object without a row is left over from a crash if it is older."""


class DatabasePages:
    """As `places.PagePlace`. Methods raise the `StorageError` of the runtime."""

    def __init__(self, url: str, objects: ObjectStore | None) -> None:
        """Take the address, and the object store of pictures; without one, they are in rows."""
        self._database = PageTables(url, TABLES)
        self._lease_database = KnowledgeDatabase(url, Path())
        self._leases = Leases(self._lease_database)
        self._objects = objects

    def of(self, collection: str) -> PageRows:
        """Return the pages of the collection with an id. Does not block."""
        return PageRows(self._database, self._objects, collection)

    def collections(self) -> set[str]:
        """Return the ids of the collections that have pages."""
        rows = self._database.rows("SELECT DISTINCT collection FROM paged_documents")
        return {row["collection"] for row in rows}

    @asynccontextmanager
    async def holding(self, collection: str, sha256: str) -> AsyncGenerator[None]:
        """Exclude all others that write the pages of a document; wait for them."""
        async with self._leases.waited_for(_leased(collection), sha256):
            yield

    async def forget_unheld(
        self, collection: str, sha256: str, is_gone: Callable[[], Awaitable[bool]]
    ) -> None:
        """Delete the pages of a document, unless another ingestion holds them."""
        pages, keys = self.of(collection), []
        async with self._leases.in_transaction(_leased(collection), sha256) as free:
            if free and await is_gone():
                async with self._database.transaction() as connection:
                    keys = await pages.forget_in(connection, sha256)
        await in_thread(pages.drop_objects, keys)

    def drop(self, collection: str) -> None:
        """Delete all pages of a collection."""
        pages = self.of(collection)
        pages.forget(list(pages.documents()))

    def purge(self, collection: str) -> None:
        """Do nothing: `KnowledgeDatabase.clean_up` removes deleted rows."""

    def sweep(self, age: timedelta = _WRITE_TIME) -> None:
        """Delete pictures of which no page is stored, from an age on."""
        if self._objects is None:
            return
        latest = datetime.now(UTC) - age
        keys = [each.key for each in self._objects.all(OBJECTS) if each.modified < latest]
        used = self._database.rows("SELECT object_key FROM pages WHERE object_key = ANY($1)", keys)
        for key in set(keys) - {row["object_key"] for row in used}:
            self._objects.delete(key)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._leases.aclose()
        await self._lease_database.aclose()
        await self._database.aclose()


def _leased(collection: str) -> str:
    """Return the name for leases of pages; those of files of the collection have its id."""
    return f"pages of {collection}"
