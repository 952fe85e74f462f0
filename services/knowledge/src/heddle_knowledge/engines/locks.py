"""Locks on tables by name, within this process or between processes."""

import asyncio
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary


class Locks:
    """Locks within this process, for an engine that offers none between processes."""

    excludes_all = False
    """Whether the locks exclude the writers of all processes."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def locked(self, name: str) -> AsyncGenerator[None]:
        """Exclude all others that lock the name; wait for them."""
        async with self._lock(name):
            yield

    @asynccontextmanager
    async def locked_if_free(self, name: str) -> AsyncGenerator[bool]:
        """Exclude all others that lock the name, if nobody does so already; say whether."""
        lock = self._lock(name)
        if lock.locked():
            yield False
            return
        async with lock:
            yield True

    @asynccontextmanager
    async def committing(self, table: str) -> AsyncGenerator[None]:
        """Exclude all others that commit to a table; what is committed is on disk at the end."""
        async with self.locked(f"{table}.write"):
            yield

    async def forget(self, ids: Collection[str]) -> None:
        """Remove what the locks of all but these collections left behind."""

    def _lock(self, name: str) -> asyncio.Lock:
        return self._locks.setdefault(name, asyncio.Lock())
