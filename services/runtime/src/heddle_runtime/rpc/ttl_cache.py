"""A cache of values that expire; concurrent requests for a key share one load."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from heddle_runtime.errors import DeadlineError
from heddle_runtime.identity.call_metadata import caller, calling_as, on_behalf_of
from heddle_runtime.identity.callers import NO_IDENTITY

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")
_TIMEOUT = "Another service did not respond in time. Try again."
MAX_ENTRIES = 4096
"""The default limit of entries."""


@dataclass(frozen=True, slots=True)
class _Entry(Generic[ValueT]):
    expires_at: float
    task: asyncio.Task[ValueT]

    def is_valid(self) -> bool:
        """Return whether the entry may be used. Failures are not cached."""
        task = self.task
        failed = task.done() and (task.cancelled() or task.exception() is not None)
        return time.monotonic() < self.expires_at and not failed


class TTLCache(Generic[KeyT, ValueT]):
    """Caches values for some seconds. The oldest entries are removed beyond a limit."""

    def __init__(self, seconds: float, max_entries: int = MAX_ENTRIES) -> None:
        self._seconds = seconds
        self._max_entries = max_entries
        self._entries: OrderedDict[KeyT, _Entry[ValueT]] = OrderedDict()

    async def get(
        self,
        key: KeyT,
        load: Callable[[], Coroutine[Any, Any, ValueT]],
        seconds: float | None = None,
    ) -> ValueT:
        """Return the cached value of `key`, or load it.

        Concurrent calls for a key wait for the same load and share its failure. Therefore `load`
        must have a deadline of its own instead of that of the first caller, and calls services as
        the identity that it names: it has none of its own. A caller that changed
        settings a moment ago gets no older value.

        Args:
            key: The key of the entry.
            load: Returns the value.
            seconds: The time limit of the caller. The load continues for other callers.

        Raises:
            DeadlineError: The value was not loaded in time.
        """
        entry = None if caller().fresh else self._entries.get(key)
        if entry is None or not entry.is_valid():
            # The time to live starts now: the value may change while it is being loaded.
            with calling_as(on_behalf_of(NO_IDENTITY)):  # the value is for several callers
                loading = asyncio.create_task(load())
            entry = _Entry(time.monotonic() + self._seconds, loading)
            entry.task.add_done_callback(_retrieve_failure)
            self._entries[key] = entry
            self._entries.move_to_end(key)
            if len(self._entries) > self._max_entries:
                self._entries.popitem(last=False)
        if entry.task.done():
            return entry.task.result()
        # Other callers wait for the same load, so a cancelled caller must not cancel it.
        if seconds is not None:
            await asyncio.wait([entry.task], timeout=seconds)
            if not entry.task.done():
                raise DeadlineError(_TIMEOUT)
        return await asyncio.shield(entry.task)

    def discard(self, key: KeyT) -> None:
        """Drop the value of `key`, so that it is loaded when it is next needed."""
        self._entries.pop(key, None)


def _retrieve_failure(task: asyncio.Task[Any]) -> None:
    """Retrieve the failure of a load, so that asyncio does not report it as unhandled."""
    if not task.cancelled():
        task.exception()
