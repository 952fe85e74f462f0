"""The collections that are searched in memory, within a budget."""

import asyncio
import time
from collections import OrderedDict
from dataclasses import dataclass

import structlog

from heddle_knowledge.collection.handle import CollectionHandle
from heddle_knowledge.searching.snapshot import COLUMNS, Snapshot

IN_MEMORY_PASSAGES = 20_000
"""Of a collection that is searched in memory: for more, the indexes of the engine are faster."""
BUDGET = 256 * 1024**2
"""Bytes of all copies together, by default."""
_PATIENCE = 0.05
"""Seconds that a search waits for a copy before it leaves the question to the engine."""
_REST = 10.0
"""Times as long as its last copy took, a collection that has changed is left to the engine."""
log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Known:
    """What is known of a version of a table: its copy, or that there is none."""

    version: int
    language: str
    snapshot: Snapshot | None = None
    next_at: float = 0.0
    """When a later version may be copied, by `time.monotonic`."""


class Snapshots:
    """Copies of tables, made when they are searched; those that are unused longest give way."""

    def __init__(self, budget: int = BUDGET) -> None:
        """Take the bytes that all copies may need together; 0: none is made."""
        self._budget = budget
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._making: dict[str, asyncio.Task[None]] = {}

    async def of(self, handle: CollectionHandle) -> Snapshot | None:
        """Return the copy of a collection as it is now, or None if the engine shall search it."""
        if not self._budget:
            return None
        collection, version = handle.collection, await handle.table.version()
        known = self._current(collection.id, version, collection.language)
        latest = self._known.get(collection.id)
        if known is None and (latest is None or time.monotonic() >= latest.next_at):
            making = self._making.get(collection.id)
            if making is None:
                making = asyncio.create_task(self._make(handle, version))
                self._making[collection.id] = making
                making.add_done_callback(lambda _: self._making.pop(collection.id, None))
            await asyncio.wait([making], timeout=_PATIENCE)
            known = self._current(collection.id, version, collection.language)
        return known.snapshot if known else None

    def clear(self) -> None:
        """Let go of all copies."""
        self._known.clear()

    def _current(self, identifier: str, version: int, language: str) -> _Known | None:
        known = self._known.get(identifier)
        if known is None:
            return None
        if (known.version, known.language) != (version, language):
            known.snapshot = None  # of what was deleted since, nothing stays
            return None
        self._known.move_to_end(identifier)
        return known

    async def _make(self, handle: CollectionHandle, version: int) -> None:
        """Copy a table, unless it is too large or changes meanwhile."""
        collection, started = handle.collection, time.monotonic()
        known = _Known(version, collection.language)
        try:
            if await handle.table.count() <= IN_MEMORY_PASSAGES:
                rows = await handle.table.rows(COLUMNS)
                snapshot = await asyncio.to_thread(
                    Snapshot, handle.table, version, rows, collection.dim, collection.language
                )
                known.snapshot = snapshot if snapshot.nbytes <= self._budget else None
            if await handle.table.version() != version:
                known.version = -1
                known.snapshot = None
        except Exception:
            # The engine searches this version then, and says what is wrong.
            log.exception("collection not copied into memory", collection=collection.id)
        known.next_at = time.monotonic() + _REST * (time.monotonic() - started)
        self._known[collection.id] = known
        self._known.move_to_end(collection.id)
        while sum(it.snapshot.nbytes for it in self._known.values() if it.snapshot) > self._budget:
            self._known.popitem(last=False)
