"""Limits how many requests a key and an organisation make. Each replica of a gateway counts alone.

Rates are token buckets: a bucket holds the requests of a minute and is refilled continuously, so a
client may send them at once and then waits for each further one.
"""

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

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


_MINUTE = 60.0
_MAX_IDLE = 10_000
"""Keys and organisations that are remembered without running requests."""
_BUSY_RETRY_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one key or organisation; 0: without a limit."""

    requests_per_minute: int = 0
    concurrent_requests: int = 0

    @property
    def any(self) -> bool:
        """Whether there is a limit."""
        return bool(self.requests_per_minute or self.concurrent_requests)


class _Account:
    """The requests of one key or one organisation."""

    __slots__ = ("running", "tokens", "updated_at")

    def __init__(self, tokens: float, now: float) -> None:
        self.tokens = tokens
        self.updated_at = now
        self.running = 0


class _Limiter:
    """Limits each key, or each organisation."""

    def __init__(self, limits: Limits, subject: str, clock: Callable[[], float]) -> None:
        self._limits = limits
        self._subject = subject
        self._clock = clock
        self._accounts: dict[int | str, _Account] = {}

    def account(self, name: int | str) -> _Account:
        """Return the account of a name, its bucket refilled."""
        now, rate = self._clock(), self._limits.requests_per_minute
        account = self._accounts.get(name)
        if account is None:
            if len(self._accounts) >= _MAX_IDLE:
                self._forget(now)
            account = self._accounts[name] = _Account(rate, now)
        refilled = account.tokens + (now - account.updated_at) * rate / _MINUTE
        account.tokens, account.updated_at = min(rate, refilled), now
        return account

    def check(self, account: _Account) -> None:
        """Raise an error if a further request exceeds a limit."""
        limits = self._limits
        if limits.requests_per_minute and account.tokens < 1:
            seconds = (1 - account.tokens) * _MINUTE / limits.requests_per_minute
            raise ResourceExhaustedError(
                f"{self._subject} may send {limits.requests_per_minute} requests a minute. Try "
                f"again in {math.ceil(seconds)} s.",
                retry_after=seconds,
            )
        if limits.concurrent_requests and account.running >= limits.concurrent_requests:
            raise ResourceExhaustedError(
                f"{self._subject} may have {limits.concurrent_requests} requests at the same time. "
                "Try again when one is complete.",
                retry_after=_BUSY_RETRY_SECONDS,
            )

    def _forget(self, now: float) -> None:
        """Forget accounts whose bucket is full again and that have no running request."""
        self._accounts = {
            name: each
            for name, each in self._accounts.items()
            if each.running or now - each.updated_at < _MINUTE
        }


class Admission:
    """A running request that counts. `end` must be called once, when it is complete."""

    __slots__ = ("_accounts",)

    def __init__(self, *accounts: _Account) -> None:
        self._accounts = accounts
        for account in accounts:
            account.tokens -= 1
            account.running += 1

    def end(self) -> None:
        """Count the request as complete."""
        for account in self._accounts:
            account.running -= 1


class RateLimits:
    """The limits of keys and of organisations."""

    def __init__(
        self, key: Limits, organization: Limits, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._keys = _Limiter(key, "This API key", clock) if key.any else None
        self._organizations = (
            _Limiter(organization, "Your organisation", clock) if organization.any else None
        )

    @property
    def any(self) -> bool:
        """Whether there is a limit."""
        return self._keys is not None or self._organizations is not None

    def admit(self, key: str, organization: str) -> Admission:
        """Count a request. A request that is refused costs nothing.

        Raises:
            ResourceExhaustedError: It exceeds a limit of the key or of the organisation.
        """
        accounts = []
        # The key itself is not stored.
        for limiter, name in ((self._keys, hash(key)), (self._organizations, organization)):
            if limiter is not None:
                account = limiter.account(name)
                limiter.check(account)
                accounts.append(account)
        return Admission(*accounts)
