"""One timer for the deadlines of many calls.

Nearly all calls end long before their deadline. A timer per call costs three times as much, because
each is created and cancelled again.
"""

import asyncio
import time
from math import inf
from typing import Protocol


class Expiring(Protocol):
    """An object with a deadline."""

    def expire(self) -> None:
        """Called when the deadline has passed."""


class Deadlines:
    """The deadlines of one event loop, as values of `time.monotonic`."""

    __slots__ = ("_deadlines", "_next", "_timer")

    def __init__(self) -> None:
        self._deadlines: dict[Expiring, float] = {}
        self._next = inf  # when the timer fires; no deadline is earlier
        self._timer: asyncio.TimerHandle | None = None

    def add(self, expiring: Expiring, deadline: float) -> None:
        """Call `expiring.expire` once at `deadline`, unless it is discarded before."""
        self._deadlines[expiring] = deadline
        if deadline < self._next:
            self._schedule(deadline)

    def discard(self, expiring: Expiring) -> None:
        """Remove an object, if it is still there."""
        self._deadlines.pop(expiring, None)

    def _schedule(self, deadline: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._next = deadline
        seconds = deadline - time.monotonic()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._fire)

    def _fire(self) -> None:
        self._timer, self._next = None, inf
        now = time.monotonic()
        due = [expiring for expiring, deadline in self._deadlines.items() if deadline <= now]
        for expiring in due:
            del self._deadlines[expiring]
        if self._deadlines:
            self._schedule(min(self._deadlines.values()))
        for expiring in due:
            expiring.expire()
