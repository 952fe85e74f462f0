"""Who may commit to LanceDB when: by locked files in a folder, else by turns in one process."""

import asyncio
import os
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

from lancedb.table import AsyncTable

from heddle_knowledge import durability
from heddle_knowledge.locks import exclusive, exclusive_if_free

# A table without a record that is older than this is left by a crash, not just being made.
_SETTLED = timedelta(hours=1)
_ID = 32


class Locks(Protocol):
    """See `interface.Engine`."""

    exclude_all: bool
    """Whether they exclude the writers of all processes."""

    def locked(self, name: str) -> AbstractAsyncContextManager[None]:
        """Exclude others, wait for them."""

    def locked_if_free(self, name: str) -> AbstractAsyncContextManager[bool]:
        """Exclude others if there are none."""

    def committing(self, name: str) -> AbstractAsyncContextManager[None]:
        """Exclude others, and see what was committed onto the disk."""

    def flushed(self, name: str) -> AbstractAsyncContextManager[None]:
        """See what was committed onto the disk."""

    async def forget(self, ids: Sequence[str]) -> None:
        """Clear away what other locks left behind."""

    async def is_settled(self, opened: Callable[[], Awaitable[AsyncTable]]) -> bool:
        """Say whether a table cannot be one that somebody is just making."""


class FileLocks:
    """Locks between the processes of one machine."""

    exclude_all = True

    def __init__(self, folder: Path, locks: Path) -> None:
        self._folder = folder
        self._locks = locks

    def locked(self, name: str) -> AbstractAsyncContextManager[None]:
        """Exclude others, wait for them."""
        return exclusive(self._locks / name)

    def locked_if_free(self, name: str) -> AbstractAsyncContextManager[bool]:
        """Exclude others if there are none."""
        return exclusive_if_free(self._locks / name)

    @asynccontextmanager
    async def committing(self, name: str) -> AsyncGenerator[None]:
        """Exclude others, and see what was committed onto the disk."""
        async with self.locked(f"{name}.write"), self.flushed(name):
            yield

    @asynccontextmanager
    async def flushed(self, name: str) -> AsyncGenerator[None]:
        """See what was committed onto the disk."""
        flushes = durability.flushes(self._table(name))
        yield
        await asyncio.to_thread(flushes.flush)

    async def forget(self, ids: Sequence[str]) -> None:
        """Remove the files of other locks."""
        for lock in await asyncio.to_thread(os.listdir, self._locks):
            id_ = lock.partition(".")[0].rpartition("_")[2]
            if len(id_) == _ID and id_ not in ids:
                (self._locks / lock).unlink(missing_ok=True)
                durability.forget(self._table(lock.partition(".")[0]))

    async def is_settled(self, opened: Callable[[], Awaitable[AsyncTable]]) -> bool:
        """Return True: whoever makes one holds the lock that the caller holds."""
        return True

    def _table(self, name: str) -> Path:
        return self._folder / f"{name}.lance"


class ProcessLocks:
    """Locks within this process; between processes the object store's optimism must do."""

    exclude_all = False

    def __init__(self) -> None:
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def locked(self, name: str) -> AbstractAsyncContextManager[None]:
        """Exclude others of this process, wait for them."""
        return self._locks[name]

    @asynccontextmanager
    async def locked_if_free(self, name: str) -> AsyncGenerator[bool]:
        """Exclude others of this process if there are none."""
        if self._locks[name].locked():
            yield False
            return
        async with self._locks[name]:
            yield True

    def committing(self, name: str) -> AbstractAsyncContextManager[None]:
        """Exclude others of this process: what an object store has taken is on its disks."""
        return self.locked(f"{name}.write")

    def flushed(self, name: str) -> AbstractAsyncContextManager[None]:
        """Do nothing, as above."""
        return nullcontext()

    async def forget(self, ids: Sequence[str]) -> None:
        """Forget the other locks that nobody holds."""
        for name in [name for name, lock in self._locks.items() if not lock.locked()]:
            id_ = name.partition(".")[0].rpartition("_")[2]
            if len(id_) == _ID and id_ not in ids:
                del self._locks[name]

    async def is_settled(self, opened: Callable[[], Awaitable[AsyncTable]]) -> bool:
        """Say whether its last version is an hour old."""
        try:
            versions = await (await opened()).list_versions()  # type: ignore[no-untyped-call]  # no annotations there
        except (RuntimeError, ValueError, OSError):
            return False  # somebody else drops it
        made = versions[-1]["timestamp"].astimezone(UTC)
        return bool(datetime.now(UTC) - made > _SETTLED)
