"""Keeps tables fast in the background: merges small files, brings indexes up to date.

A commit leaves a file, and readers pay for every one; full-text search scans rows that its index
does not contain. A collection is put in order after some commits, after some rows, or when it has
been quiet for a moment.

Merged files stay until no reader of an earlier version needs them. So a collection is put in order
once more when that time is over, without waiting for another commit.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import structlog

MAX_COMMITS = 32
MAX_ROWS = 1_000
"""A full-text search scans so many in 15 ms; docs/adr/0032 tells what a smaller number costs."""
log = structlog.get_logger(__name__)


class _Pending:
    """The writes to a collection since its last compaction."""

    def __init__(self) -> None:
        self.commits = 0
        self.rows = 0
        self.due = asyncio.Event()

    def add(self, rows: int) -> None:
        self.commits += 1
        self.rows += rows
        if self.commits >= MAX_COMMITS or self.rows >= MAX_ROWS:
            self.due.set()


class Maintenance:
    """Runs one background task per collection that was written to."""

    def __init__(
        self,
        maintain: Callable[[str], Awaitable[None]],
        *,
        quiet_seconds: float,
        settle_seconds: float,
    ) -> None:
        """Prepare.

        Args:
            maintain: Puts the collection of this id in order.
            quiet_seconds: How long after the last commit to begin, unless so many commits or
                rows have piled up before.
            settle_seconds: How long after that readers may need files of earlier versions.
        """
        self._maintain = maintain
        self._quiet_seconds = quiet_seconds
        self._settle_seconds = settle_seconds
        self._pending: dict[str, _Pending] = {}
        self._written: dict[str, asyncio.Event] = {}
        # After a start, all collections come at once.
        self._one_settles = asyncio.Lock()
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def committed(self, collection: str, rows: int) -> None:
        """Count a commit to a collection, and the rows that it wrote."""
        self._pending.setdefault(collection, _Pending()).add(rows)
        self.revisit(collection)
        self._written[collection].set()

    def revisit(self, collection: str) -> None:
        """Put a collection in order once its readers have settled, unless that is planned."""
        if collection not in self._tasks:
            self._written[collection] = asyncio.Event()
            self._tasks[collection] = asyncio.create_task(self._run(collection))

    async def aclose(self) -> None:
        """Stop. Work that is interrupted leaves the tables as they were."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, collection: str) -> None:
        written = self._written[collection]
        try:
            while True:
                await self._run_until_quiet(collection)
                written.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(written.wait(), self._settle_seconds)
                if collection in self._pending:
                    continue
                async with self._one_settles:
                    await self._maintain(collection)
                if collection not in self._pending:
                    return
        except Exception:
            # Nothing is lost: the table only stays slower until the next commit comes by.
            log.exception("knowledge_maintenance_failed", collection=collection)
        finally:
            self._pending.pop(collection, None)
            del self._tasks[collection], self._written[collection]

    async def _run_until_quiet(self, collection: str) -> None:
        while (pending := self._pending.get(collection)) is not None:
            commits = pending.commits
            with suppress(TimeoutError):
                await asyncio.wait_for(pending.due.wait(), self._quiet_seconds)
            if pending.commits == commits or pending.due.is_set():
                del self._pending[collection]
                await self._maintain(collection)
