"""Leases: who may work on a file, among all replicas. One whose holder dies expires.

A holder renews its leases every second. If it cannot, or if the lease was taken from it, its work
is cancelled before another holder begins. Another replica that wants to change the file says so,
and an ingestion then gives way.
"""

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass

import structlog
from heddle_runtime.errors import StorageError
from heddle_runtime.storage.database.claims import clock
from heddle_runtime.storage.database.inserting import insertion
from sqlalchemy import bindparam, delete, false, null, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_knowledge.database.opening import KnowledgeDatabase
from heddle_knowledge.database.schema import leases

log = structlog.get_logger(__name__)
LEASE_SECONDS = 15
_RENEW_SECONDS = 1.0
_MARGIN_SECONDS = 5.0
"""Work ends so long before its lease, if that cannot be renewed."""
_SHORTEST_WAIT, _LONGEST_WAIT = 0.05, 0.5
_ALONE = "names"
"""The name of the lease of a whole collection. No file has this identifier."""
_COLUMNS = leases.c
_OF_HOLDER = _COLUMNS.holder == bindparam("of_holder")
_WANT = (
    update(leases)
    .where(_COLUMNS.collection == bindparam("of"), _COLUMNS.name == bindparam("named"))
    .values(requested=True)
)


@dataclass(eq=False, slots=True)
class _Lease:
    work: "asyncio.Task[object]"
    """The task that is cancelled when the lease is lost."""
    gives_way: bool
    """Whether the work is also cancelled when another holder wants the lease."""
    renewed: float
    report: bytes | None = None
    """The progress of the work, for other holders."""


class Leases:
    """The leases of this process, by what they are for."""

    shared = True
    """Whether replicas take over each other's work, and so look for it."""

    def __init__(self, database: KnowledgeDatabase) -> None:
        self._database = database
        self._held: dict[str, _Lease] = {}
        self._holders: dict[tuple[str, str], str] = {}
        self._renewing: asyncio.Task[None] | None = None

    async def holds(self, connection: AsyncConnection, collection: str, name: str) -> bool:
        """Return whether this process holds a lease until the transaction ends."""
        holder = self._holders.get((collection, name), "")
        query = select(_COLUMNS.holder).where(
            _COLUMNS.holder == holder, _COLUMNS.expires_at > clock(connection)
        )
        return (await connection.execute(query.with_for_update(read=True))).first() is not None

    def report(self, collection: str, name: str, content: bytes | None) -> None:
        """Store how far the work is with the next renewal, if this process holds the lease."""
        if lease := self._held.get(self._holders.get((collection, name), "")):
            lease.report = content

    async def reports(self, collection: str, names: Sequence[str]) -> Mapping[str, bytes]:
        """Return the progress of the work of all replicas, by the names of leases."""
        if not names:
            return {}
        async with self._database.reading() as connection:
            query = select(_COLUMNS.name, _COLUMNS.report).where(
                _COLUMNS.collection == collection,
                _COLUMNS.name.in_(names),
                _COLUMNS.report.is_not(None),
                _COLUMNS.expires_at > clock(connection),
            )
            return {row.name: row.report for row in await connection.execute(query)}

    @asynccontextmanager
    async def waited_for(self, collection: str, name: str) -> AsyncGenerator[None]:
        """Hold a lease. Waits until other holders are done, or give way."""
        holder, wait = _new_holder(), _SHORTEST_WAIT
        while not await self._take(collection, name, holder):
            async with self._database.writing() as connection:
                await connection.execute(_WANT, {"of": collection, "named": name})
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
    async def in_transaction(self, collection: str, name: str) -> AsyncGenerator[bool]:
        """Hold a lease that is free during a short block, and say whether it was.

        Others who want it wait until the block ends.
        """
        holder = _new_holder()
        async with self._database.writing() as connection:
            free = await _taken(connection, collection, name, holder)
            yield free
            if free:
                await connection.execute(delete(leases).where(_COLUMNS.holder == holder))

    def alone(self, name: str) -> AbstractAsyncContextManager[None]:
        """Exclude all other replicas; see `IngestionQueue.alone`."""
        return self.waited_for(name, _ALONE)

    async def take_away(self, collection: str) -> None:
        """End the leases of a collection, and the work of their holders."""
        async with self._database.writing() as connection:
            await connection.execute(delete(leases).where(_COLUMNS.collection == collection))

    async def aclose(self) -> None:
        """Stop to renew."""
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)

    async def _take(self, collection: str, name: str, holder: str) -> bool:
        taking = asyncio.ensure_future(self._taken(collection, name, holder))
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            with suppress(StorageError):
                await taking
                await self._free(holder)
            raise

    async def _taken(self, collection: str, name: str, holder: str) -> bool:
        async with self._database.writing() as connection:
            return await _taken(connection, collection, name, holder)

    async def _free(self, holder: str) -> None:
        async with self._database.writing() as connection:
            await connection.execute(delete(leases).where(_COLUMNS.holder == holder))

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
                await asyncio.shield(self._free(holder))

    async def _renew(self) -> None:
        while self._held:
            await asyncio.sleep(_RENEW_SECONDS)
            held = dict(self._held)
            begin = time.monotonic()
            try:
                async with asyncio.timeout(_MARGIN_SECONDS):
                    requests = await self._renewed(held)
            except (StorageError, TimeoutError) as error:
                log.warning("leases not renewed", leases=len(held), cause=str(error))
                self._end_late(held, begin)
                continue
            for holder, lease in held.items():
                lease.renewed = begin
                if holder not in requests or (requests[holder] and lease.gives_way):
                    self._end(holder, lease)

    async def _renewed(self, held: Mapping[str, _Lease]) -> Mapping[str, bool]:
        """Renew leases. Return those that this process still has, and whether others want them."""
        if not held:
            return {}
        async with self._database.writing() as connection:
            now = clock(connection)
            mine = _COLUMNS.holder.in_(held), _COLUMNS.expires_at > now
            # In one order: two that renew each other's rows would wait for each other.
            query = select(_COLUMNS.holder, _COLUMNS.requested).where(*mine)
            ordered = query.order_by(_COLUMNS.holder).with_for_update()
            rows = (await connection.execute(ordered)).all()
            renewal = update(leases).where(_OF_HOLDER)
            values = [{"of_holder": row.holder, "report": held[row.holder].report} for row in rows]
            if values:
                renewed = renewal.values(expires_at=now + LEASE_SECONDS, report=bindparam("report"))
                await connection.execute(renewed, values)
        return {row.holder: row.requested for row in rows}

    def _end_late(self, held: Mapping[str, _Lease], now: float) -> None:
        for holder, lease in held.items():
            if now - lease.renewed > LEASE_SECONDS - 2 * _MARGIN_SECONDS:
                self._end(holder, lease)

    def _end(self, holder: str, lease: _Lease) -> None:
        if self._held.pop(holder, None):  # otherwise it has just been freed
            lease.work.cancel()


async def _taken(connection: AsyncConnection, collection: str, name: str, holder: str) -> bool:
    now = clock(connection)
    new = insertion(connection, leases).values(
        collection=collection, name=name, holder=holder, expires_at=now + LEASE_SECONDS
    )
    taking = new.on_conflict_do_update(
        index_elements=[_COLUMNS.collection, _COLUMNS.name],
        set_={
            "holder": new.excluded.holder,
            "expires_at": new.excluded.expires_at,
            "requested": false(),
            "report": null(),
        },
        where=_COLUMNS.expires_at < now,
    )
    return (await connection.execute(taking.returning(_COLUMNS.holder))).first() is not None


def _new_holder() -> str:
    return uuid.uuid4().hex
