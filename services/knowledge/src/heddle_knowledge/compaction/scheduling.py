"""Keeps tables fast in the background: merges small fragments, brings indexes up to date.

A commit leaves a fragment, and readers pay for every one; rows that the index of words does not
hold yet are read one by one. After some commits, after so many rows, or when a collection has been
quiet for a moment, its table is put in order once.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import structlog

MOST_COMMITS = 4
MOST_ROWS = 4_000
"""A search by words reads so many in a twentieth of a second."""
log = structlog.get_logger(__name__)


class _Pending:
    """What was written to a collection since it was put in order."""

    def __init__(self) -> None:
        self.commits = 0
        self.rows = 0
        self.due = asyncio.Event()

    def add(self, rows: int) -> None:
        self.commits += 1
        self.rows += rows
        if self.commits >= MOST_COMMITS or self.rows >= MOST_ROWS:
            self.due.set()


class Maintenance:
    """Runs one background task per collection that was written to."""

    def __init__(self, tidy: Callable[[str], Awaitable[None]], *, quiet_seconds: float) -> None:
        """Prepare.

        Args:
            tidy: Puts the collection of this id in order.
            quiet_seconds: How long after the last commit to begin, unless so many commits or
                rows have piled up before.
        """
        self._tidy = tidy
        self._quiet_seconds = quiet_seconds
        self._pending: dict[str, _Pending] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def committed(self, collection: str, rows: int) -> None:
        """Take note of a commit to a collection, and of the rows that it wrote."""
        self._pending.setdefault(collection, _Pending()).add(rows)
        if collection not in self._tasks:
            self._tasks[collection] = asyncio.create_task(self._tend(collection))

    async def aclose(self) -> None:
        """Stop. Work that is interrupted leaves the tables as they were."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _tend(self, collection: str) -> None:
        try:
            while (pending := self._pending.get(collection)) is not None:
                commits = pending.commits
                with suppress(TimeoutError):
                    await asyncio.wait_for(pending.due.wait(), self._quiet_seconds)
                if pending.commits == commits or pending.due.is_set():
                    del self._pending[collection]
                    await self._tidy(collection)
        except Exception:
            # Nothing is lost: the table only stays slower until the next commit comes by.
            log.exception("knowledge_maintenance_failed", collection=collection)
        finally:
            self._pending.pop(collection, None)
            del self._tasks[collection]
