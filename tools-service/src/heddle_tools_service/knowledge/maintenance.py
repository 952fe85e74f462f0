"""Keeps tables fast in the background: merges small fragments, brings indexes up to date.

A commit per document leaves a fragment per document, and readers pay for every one. After some
commits, or when a collection has been quiet for a moment, its table is put in order once.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

import structlog

_COMMITS = 32
log = structlog.get_logger(__name__)


class Maintenance:
    """Runs one background task per collection that was written to."""

    def __init__(self, tidy: Callable[[str], Awaitable[None]], *, quiet_seconds: float) -> None:
        """Prepare.

        Args:
            tidy: Puts the collection of this name in order.
            quiet_seconds: How long after the last commit to begin, unless 32 have piled up.
        """
        self._tidy = tidy
        self._quiet_seconds = quiet_seconds
        self._commits: Counter[str] = Counter()
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def committed(self, name: str) -> None:
        """Take note of a commit to a collection."""
        self._commits[name] += 1
        if name not in self._tasks:
            self._tasks[name] = asyncio.create_task(self._tend(name))

    async def aclose(self) -> None:
        """Stop. Work that is interrupted leaves the tables as they were."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _tend(self, name: str) -> None:
        try:
            while pending := self._commits[name]:
                if pending < _COMMITS:
                    await asyncio.sleep(self._quiet_seconds)
                    if pending != self._commits[name] < _COMMITS:
                        continue  # not quiet yet
                self._commits[name] = 0
                await self._tidy(name)
        except Exception:
            # Nothing is lost: the table only stays slower until the next commit comes by.
            log.exception("knowledge_maintenance_failed", collection=name)
        finally:
            del self._commits[name]
            del self._tasks[name]
