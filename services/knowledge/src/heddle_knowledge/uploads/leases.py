"""Leases: who may work on a file, among all replicas. One whose holder dies expires.

A holder renews its leases every second. If it cannot, or if the lease was taken from it, its work
is cancelled before another holder begins. Another replica that wants to change the file says so,
and an ingestion then gives way.
"""

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import structlog
from heddle_runtime.errors import StorageError

from heddle_knowledge.uploads.files_database import Connection, FilesDatabase

log = structlog.get_logger(__name__)
LEASE_SECONDS = 15.0
_RENEW_SECONDS = 1.0
_MARGIN_SECONDS = 5.0
"""Work ends so long before its lease, if that cannot be renewed."""
_SHORTEST_WAIT, _LONGEST_WAIT = 0.05, 0.5
_TAKE = """
INSERT INTO leases (collection, name, holder, expires_at)
VALUES ($1, $2, $3, clock_timestamp() + make_interval(secs => $4))
ON CONFLICT (collection, name) DO UPDATE
SET holder = excluded.holder, expires_at = excluded.expires_at, wanted = false,
  report = NULL
WHERE leases.expires_at < clock_timestamp()
RETURNING true
"""
_RENEW = """
UPDATE leases SET expires_at = clock_timestamp() + make_interval(secs => $2), report = held.report
FROM unnest($1::text[], $3::bytea[]) AS held (holder, report)
WHERE leases.holder = held.holder AND expires_at > clock_timestamp()
RETURNING leases.holder, wanted
"""
_WANT = "UPDATE leases SET wanted = true WHERE collection = $1 AND name = $2"
_FREE = "DELETE FROM leases WHERE holder = $1"


@dataclass(eq=False, slots=True)
class _Lease:
    """A lease that this process holds."""

    work: "asyncio.Task[object]"
    """What is cancelled when the lease is lost."""
    gives_way: bool
    """Whether the work is also cancelled when another holder wants the lease."""
    renewed: float
    report: bytes | None = None
    """How far the work is, for other holders."""


class Leases:
    """The leases of this process, by what they are for."""

    def __init__(self, database: FilesDatabase) -> None:
        self._database = database
        self._held: dict[str, _Lease] = {}
        self._holders: dict[tuple[str, str], str] = {}
        self._renewing: asyncio.Task[None] | None = None

    def holder(self, collection: str, name: str) -> str:
        """Return the name under which this process holds a lease; empty: it does not."""
        return self._holders.get((collection, name), "")

    def report(self, collection: str, name: str, content: bytes | None) -> None:
        """Store how far the work is with the next renewal, if this process holds the lease."""
        if lease := self._held.get(self.holder(collection, name)):
            lease.report = content

    @asynccontextmanager
    async def waited_for(self, collection: str, name: str) -> AsyncGenerator[None]:
        """Hold a lease. Waits until other holders are done, or give way."""
        holder, wait = _new_holder(), _SHORTEST_WAIT
        while not await self._take(collection, name, holder):
            await self._database.fetch(_WANT, collection, name)
            await asyncio.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)
        async with self._holding(collection, name, holder, gives_way=False):
            yield

    @asynccontextmanager
    async def if_free(self, collection: str, name: str) -> AsyncGenerator[bool]:
        """Hold a lease that is free, and say whether it was. Gives way to those who wait for it."""
        holder = _new_holder()
        if not await self._take(collection, name, holder):
            yield False
            return
        async with self._holding(collection, name, holder, gives_way=True):
            yield True

    @asynccontextmanager
    async def in_transaction(
        self, connection: Connection, collection: str, name: str
    ) -> AsyncGenerator[bool]:
        """Hold a lease that is free for the rest of a transaction, and say whether it was.

        Others who want it wait until the transaction ends.
        """
        holder = _new_holder()
        free = bool(await connection.fetchval(_TAKE, collection, name, holder, LEASE_SECONDS))
        yield free
        if free:
            await connection.execute(_FREE, holder)

    async def aclose(self) -> None:
        """Stop to renew."""
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)

    async def _take(self, collection: str, name: str, holder: str) -> bool:
        taking = asyncio.ensure_future(
            self._database.fetch(_TAKE, collection, name, holder, LEASE_SECONDS)
        )
        try:
            return bool(await asyncio.shield(taking))
        except asyncio.CancelledError:
            with suppress(StorageError):
                await taking
                await self._database.fetch(_FREE, holder)
            raise

    @asynccontextmanager
    async def _holding(
        self, collection: str, name: str, holder: str, *, gives_way: bool
    ) -> AsyncGenerator[None]:
        work = asyncio.current_task()
        assert work is not None  # noqa: S101 - for types
        self._held[holder] = _Lease(work, gives_way, time.monotonic())
        self._holders[collection, name] = holder
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._renew())
        try:
            yield
        finally:
            self._held.pop(holder, None)
            if self._holders.get((collection, name)) == holder:
                del self._holders[collection, name]
            with suppress(StorageError):  # it expires
                await asyncio.shield(self._database.fetch(_FREE, holder))

    async def _renew(self) -> None:
        """Renew all leases again and again, while there are any."""
        while self._held:
            await asyncio.sleep(_RENEW_SECONDS)
            held = dict(self._held)
            begin = time.monotonic()
            try:
                async with asyncio.timeout(_MARGIN_SECONDS):
                    reports = [lease.report for lease in held.values()]
                    rows = await self._database.fetch(_RENEW, list(held), LEASE_SECONDS, reports)
            except (StorageError, TimeoutError) as error:
                log.warning("leases not renewed", leases=len(held), cause=str(error))
                self._end_late(held, begin)
                continue
            requests = {row["holder"]: row["wanted"] for row in rows}
            for holder, lease in held.items():
                lease.renewed = begin
                if holder not in requests or (requests[holder] and lease.gives_way):
                    self._end(holder, lease)

    def _end_late(self, held: dict[str, _Lease], now: float) -> None:
        for holder, lease in held.items():
            if now - lease.renewed > LEASE_SECONDS - 2 * _MARGIN_SECONDS:
                self._end(holder, lease)

    def _end(self, holder: str, lease: _Lease) -> None:
        if self._held.pop(holder, None):  # otherwise it has just been freed
            lease.work.cancel()


def _new_holder() -> str:
    return uuid.uuid4().hex
