"""Locks of files in a folder, which one process serves."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from pathlib import Path

from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_knowledge.files.locks import exclusive, exclusive_if_free


class FileLocks:
    """Locks, each of a file that is locked. As `leases.Leases`."""

    shared = False

    def __init__(self, folder: Path) -> None:
        """Take the folder, which is created with the first lock."""
        self._folder = folder
        self._held: set[tuple[str, str]] = set()
        self._reports: dict[tuple[str, str], bytes] = {}

    async def holds(self, connection: AsyncConnection, collection: str, name: str) -> bool:
        """Return whether this process holds a lock that was not taken away."""
        return (collection, name) in self._held

    def report(self, collection: str, name: str, content: bytes | None) -> None:
        """Store how far the work is. Does not block."""
        if content is None:
            self._reports.pop((collection, name), None)
        else:
            self._reports[collection, name] = content

    async def reports(self, collection: str, names: Sequence[str]) -> Mapping[str, bytes]:
        """Return the progress of work, by the names of locks."""
        every = {name: self._reports.get((collection, name)) for name in names}
        return {name: content for name, content in every.items() if content is not None}

    @asynccontextmanager
    async def waited_for(self, collection: str, name: str) -> AsyncGenerator[None]:
        """Hold a lock. Waits until other holders are done."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self.path(collection, name)
        async with exclusive(path):
            self._held.add((collection, name))
            try:
                yield
            finally:
                self._held.discard((collection, name))
                path.unlink(missing_ok=True)

    @asynccontextmanager
    async def if_free(self, collection: str, name: str) -> AsyncGenerator[bool]:
        """Do the same, and yield True."""
        async with self.waited_for(collection, name):
            yield True

    @asynccontextmanager
    async def in_transaction(self, collection: str, name: str) -> AsyncGenerator[bool]:
        """Hold a lock that is free during a short block, and say whether it was."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self.path(collection, name)
        async with exclusive_if_free(path) as free:
            yield free
            if free:
                path.unlink(missing_ok=True)

    def alone(self, name: str) -> AbstractAsyncContextManager[None]:
        """Do nothing: the locks of the process suffice."""
        return nullcontext()

    async def take_away(self, collection: str) -> None:
        """Let holders of locks of a collection store nothing more."""
        self._held = {each for each in self._held if each[0] != collection}

    async def aclose(self) -> None:
        """Do nothing."""

    def path(self, collection: str, name: str) -> Path:
        """Return the file of a lock."""
        return self._folder / f"{collection}.{name}"
