"""Pages in a folder on a local disk: a file for each collection, and files that are locked."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from heddle_knowledge.files.locks import exclusive, exclusive_if_free
from heddle_knowledge.pages.page_database import PageDatabase
from heddle_knowledge.pages.threads import in_thread

_ENDING = ".pages"


class FolderPages:
    """As `places.PagePlace`. All methods but `of` raise `sqlite3.Error` or `OSError`."""

    def __init__(self, folder: Path) -> None:
        """Take the folder, which is created when the first page comes."""
        self._folder = folder
        self._page_databases: dict[str, PageDatabase] = {}

    def of(self, collection: str) -> PageDatabase:
        """Return the pages of the collection with an id. Does not block."""
        if collection not in self._page_databases:
            self._page_databases[collection] = PageDatabase(self._folder / f"{collection}{_ENDING}")
        return self._page_databases[collection]

    def collections(self) -> set[str]:
        """Return the ids of the collections that have pages."""
        return {path.name.removesuffix(_ENDING) for path in self._folder.glob(f"*{_ENDING}")}

    @asynccontextmanager
    async def holding(self, collection: str, sha256: str) -> AsyncGenerator[None]:
        """Exclude all others that write the pages of a document; wait for them."""
        await in_thread(self._folder.mkdir, parents=True, exist_ok=True)
        async with exclusive(self._lock(collection, sha256)):  # its file goes with the pages
            yield

    async def forget_unheld(
        self, collection: str, sha256: str, is_gone: Callable[[], Awaitable[bool]]
    ) -> None:
        """Delete the pages of a document, unless another ingestion holds them."""
        lock = self._lock(collection, sha256)
        async with exclusive_if_free(lock) as free:
            if free and await is_gone():
                await in_thread(self.of(collection).forget, [sha256])
                lock.unlink(missing_ok=True)

    def drop(self, collection: str) -> None:
        """Delete all pages of a collection."""
        self.of(collection).remove()
        for lock in self._folder.glob(f"{collection}.*.held"):
            lock.unlink(missing_ok=True)
        self._page_databases.pop(collection, None)

    def purge(self, collection: str) -> None:
        """Leave nothing of deleted pages of a collection in files."""
        self.of(collection).purge()

    def sweep(self) -> None:
        """Do nothing: a page is one row."""

    def _lock(self, collection: str, sha256: str) -> Path:
        return self._folder / f"{collection}.{sha256}.held"
