"""The deadlines of much that runs at once, kept by one timer.

Nearly all of it is over long before its time is, so a timer for each would be made and cancelled
for nothing, at three times the cost.
"""

import asyncio
import time
from math import inf
from typing import Protocol


class Limited(Protocol):
    """What has a deadline."""

    def expire(self) -> None:
        """Take note that it has passed."""


class Deadlines:
    """Those of one event loop. Moments are of `time.monotonic`."""

    __slots__ = ("_deadlines", "_next", "_timer")

    def __init__(self) -> None:
        self._deadlines: dict[Limited, float] = {}
        self._next = inf  # when the timer rings; nothing is due before
        self._timer: asyncio.TimerHandle | None = None

    def add(self, limited: Limited, deadline: float) -> None:
        """Let `limited` expire at a moment, once, unless it is taken out before."""
        self._deadlines[limited] = deadline
        if deadline < self._next:
            self._wait(deadline)

    def discard(self, limited: Limited) -> None:
        """Take out what is over, if it is not out yet."""
        self._deadlines.pop(limited, None)

    def _wait(self, moment: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._next = moment
        seconds = moment - time.monotonic()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._ring)

    def _ring(self) -> None:
        self._timer, self._next = None, inf
        now = time.monotonic()
        due = [limited for limited, deadline in self._deadlines.items() if deadline <= now]
        for limited in due:
            del self._deadlines[limited]
        if self._deadlines:
            self._wait(min(self._deadlines.values()))
        for limited in due:
            limited.expire()
