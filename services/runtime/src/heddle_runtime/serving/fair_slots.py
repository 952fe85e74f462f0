"""Limits heavy work by slots, given to organisations in turn, and to the owners within each."""

import asyncio
import sys
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from itertools import zip_longest
from typing import Any, NamedTuple, TypeVar

ItemT = TypeVar("ItemT")
_NOTHING: Any = object()


class QueueFullError(Exception):
    """Too much work waits already."""

    def __init__(self, *, of_organization: bool) -> None:
        super().__init__()
        self.of_organization = of_organization
        """Whether it is work of the same organisation."""


class Tenant(NamedTuple):
    """The organisation and the owner for whom work is done."""

    organization: str
    owner: str


NOBODY = Tenant("", "")
"""The tenant of work that belongs to no organisation."""


def in_turn(items: Iterable[ItemT], tenant_of: Callable[[ItemT], Tenant]) -> list[ItemT]:
    """Return items ordered so that organisations take turns, and within one its owners.

    The organisation of the first item is first. Items of one owner keep their order.
    """
    by_organization: dict[str, dict[str, list[ItemT]]] = {}
    for item in items:
        tenant = tenant_of(item)
        owners = by_organization.setdefault(tenant.organization, {})
        owners.setdefault(tenant.owner, []).append(item)
    return _alternating(_alternating(owners.values()) for owners in by_organization.values())


def _alternating(groups: Iterable[list[ItemT]]) -> list[ItemT]:
    rounds = zip_longest(*groups, fillvalue=_NOTHING)
    return [item for each in rounds for item in each if item is not _NOTHING]


class FairSlots:
    """Limits how much work runs at the same time, and whose work is next.

    Waiting work runs in turn: one piece of each organisation, and of an organisation one piece of
    each owner. One organisation never holds all slots, so that another's work finds a free one.
    """

    def __init__(
        self,
        slots: int,
        *,
        per_organization: int,
        max_waiting: int = sys.maxsize,
        max_waiting_per_organization: int = sys.maxsize,
    ) -> None:
        """Prepare.

        Args:
            slots: The number of pieces of work at the same time.
            per_organization: The number of these that one organisation may hold.
            max_waiting: The number of pieces that may wait.
            max_waiting_per_organization: The number of these that one organisation may have.
        """
        self._free = slots
        self._per_organization = per_organization
        self._max_waiting = max_waiting
        self._max_waiting_per_organization = max_waiting_per_organization
        self._running: Counter[str] = Counter()
        # By organisation and owner; the next in turn is first in each.
        self._waiting: dict[str, dict[str, deque[asyncio.Future[None]]]] = {}
        self._waiting_count: Counter[str] = Counter()

    @asynccontextmanager
    async def slot(self, tenant: Tenant) -> AsyncGenerator[None]:
        """Hold a slot for a piece of work of `tenant`.

        Raises:
            QueueFullError: Too many pieces wait already.
        """
        await self.acquire(tenant)
        try:
            yield
        finally:
            self.release(tenant.organization)

    async def acquire(self, tenant: Tenant) -> None:
        """Take a slot for a piece of work of `tenant`; `release` must be called once after it.

        Raises:
            QueueFullError: Too many pieces wait already.
        """
        if self._free and self._running[tenant.organization] < self._per_organization:
            self._take(tenant.organization)
            return
        self._check_room(tenant.organization)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        owners = self._waiting.setdefault(tenant.organization, {})
        owners.setdefault(tenant.owner, deque()).append(turn)
        self._waiting_count[tenant.organization] += 1
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._drop(tenant, turn)
            else:  # it got the slot at the same time
                self.release(tenant.organization)
            raise

    def release(self, organization: str) -> None:
        """Give back a slot that a piece of work of an organisation held."""
        self._free += 1
        self._running[organization] -= 1
        if not self._running[organization]:
            del self._running[organization]
        self._grant()

    def _check_room(self, organization: str) -> None:
        if self._waiting_count[organization] >= self._max_waiting_per_organization:
            raise QueueFullError(of_organization=True)
        if self._waiting_count.total() >= self._max_waiting:
            raise QueueFullError(of_organization=False)

    def _take(self, organization: str) -> None:
        self._free -= 1
        self._running[organization] += 1

    def _grant(self) -> None:
        for organization in list(self._waiting):
            if not self._free:
                return
            if self._running[organization] < self._per_organization:
                turn = self._next(organization)
                if turn is not None:
                    self._take(organization)
                    turn.set_result(None)

    def _next(self, organization: str) -> "asyncio.Future[None] | None":
        """Remove and return the next turn of an organisation, and put both behind the others.

        Return None if all of its turns were cancelled.
        """
        while owners := self._waiting.pop(organization, None):
            owner = next(iter(owners))
            turns = owners.pop(owner)
            turn = turns.popleft()
            if turns:
                owners[owner] = turns
            if owners:
                self._waiting[organization] = owners
            self._counted_down(organization)
            if not turn.cancelled():
                return turn
        return None

    def _drop(self, tenant: Tenant, turn: "asyncio.Future[None]") -> None:
        """Remove a cancelled turn, unless `_next` has removed it already."""
        owners = self._waiting.get(tenant.organization, {})
        turns = owners.get(tenant.owner)
        if turns is None or turn not in turns:
            return
        turns.remove(turn)
        if not turns:
            del owners[tenant.owner]
        if not owners:
            del self._waiting[tenant.organization]
        self._counted_down(tenant.organization)

    def _counted_down(self, organization: str) -> None:
        self._waiting_count[organization] -= 1
        if not self._waiting_count[organization]:
            del self._waiting_count[organization]
