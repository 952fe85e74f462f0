"""Makes organisations take turns: one that sends many requests at once does not delay the others.

The requests of an organisation wait for each other, never for those of another one. Each replica of
a gateway counts alone.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable

from heddle_runtime.errors import ResourceExhaustedError
from heddle_runtime.identity.callers import Identity, home
from heddle_runtime.serving.fair_slots import FairSlots, QueueFullError, Tenant

_SHORTEST_SECONDS = 0.1
"""The shortest time for which a request counts. It limits the requests that start in a second."""
_LONGEST_SECONDS = 0.25
"""The longest time for which a request counts. An answer that waits for its model needs no CPU."""
_ACTIVE_SECONDS = 60.0
"""The time for which an organisation counts as active after a request."""
_MAX_WAITING = 1_000
_MAX_WAITING_SECONDS = 30.0
_RETRY_SECONDS = 5.0
_MAX_ORGANIZATIONS = 10_000
_UNLIMITED = 2**31


class Turn:
    """The turn of a request. `end` must be called when the request is complete."""

    __slots__ = ("_loop", "_organization", "_slots", "_started", "_timer")

    def __init__(self, slots: FairSlots, organization: str) -> None:
        self._slots = slots
        self._organization = organization
        self._loop = asyncio.get_running_loop()
        self._started = self._loop.time()
        self._timer: asyncio.TimerHandle | None = self._loop.call_later(
            _LONGEST_SECONDS, self._release
        )

    def end(self) -> None:
        """Let the next request begin, unless this one has done so already."""
        if self._timer is None:
            return
        self._timer.cancel()
        left = self._started + _SHORTEST_SECONDS - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(left, self._release)
        else:
            self._release()

    def _release(self) -> None:
        self._timer = None
        self._slots.release(self._organization)


class FairTurns:
    """The turns of all organisations."""

    def __init__(
        self,
        starting: int,
        clock: Callable[[], float] = time.monotonic,
        max_waiting_seconds: float = _MAX_WAITING_SECONDS,
    ) -> None:
        """Prepare.

        Args:
            starting: The number of requests of one organisation that may start at the same time.
            clock: Returns the time in seconds.
            max_waiting_seconds: How long a request waits for its turn.
        """
        self._slots = FairSlots(
            _UNLIMITED, per_organization=starting, max_waiting_per_organization=_MAX_WAITING
        )
        self._clock = clock
        self._max_waiting_seconds = max_waiting_seconds
        self._active: OrderedDict[str, float] = OrderedDict()
        """The times of the last requests by organisation, the latest last."""

    async def enter(self, identity: Identity) -> Turn | None:
        """Wait until a request may start; None if no other organisation is active.

        Within an organisation its users take turns.

        Raises:
            ResourceExhaustedError: Too many requests of the organisation wait, or for too long.
        """
        organization = home(identity)
        if self._is_alone(organization):
            return None
        try:
            async with asyncio.timeout(self._max_waiting_seconds):
                await self._slots.acquire(Tenant(organization, identity.subject))
        except (QueueFullError, TimeoutError):
            raise ResourceExhaustedError(
                "Your organisation sends too many requests at the same time. Try again in "
                f"{_RETRY_SECONDS:g} s.",
                retry_after=_RETRY_SECONDS,
            ) from None
        return Turn(self._slots, organization)

    def _is_alone(self, organization: str) -> bool:
        """Note a request; return whether no other organisation has sent one lately."""
        now = self._clock()
        self._active[organization] = now
        self._active.move_to_end(organization)
        if len(self._active) == 1:
            return True
        if len(self._active) > _MAX_ORGANIZATIONS:
            self._active.popitem(last=False)
        latest = reversed(self._active.values())
        next(latest)
        return now - next(latest) > _ACTIVE_SECONDS
