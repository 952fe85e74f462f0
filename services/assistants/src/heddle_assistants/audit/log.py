"""Opens the transactions of all changes, and adds their audit events."""

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import structlog
from heddle_runtime.contract.audit import Change
from heddle_runtime.errors import NotFoundError, PermissionDeniedError, UnavailableError
from heddle_runtime.identity.call_metadata import caller
from heddle_runtime.identity.callers import home
from heddle_runtime.identity.permissions import may_administer
from heddle_runtime.storage.database.engine import Database
from heddle_runtime.storage.database.inserting import insertion
from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.audit.chain import CHAIN, ChainKeys, locked_ends, open_keys
from heddle_assistants.audit.entries import Entry, entry_of
from heddle_assistants.audit.people import PeopleInEvents
from heddle_assistants.database.encryption import Keys
from heddle_assistants.database.schema import audit_chain, audit_events, audit_keys

log = structlog.get_logger(__name__)
_MAX_REFUSALS = 60
"""The maximum number of refused attempts that are recorded in a minute: any caller can cause them.
Failures to sign in are counted apart."""
_LOGGED = ("number", "action", "object_id", "organization", "subject", "outcome", "digest")


class _Rate:
    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._minute = 0.0
        self._count = 0

    def admits(self) -> bool:
        """Count one, and return whether it is within the limit."""
        minute = time.monotonic() // 60
        if minute != self._minute:
            self._minute, self._count = minute, 0
        self._count += 1
        return self._count <= self._limit


class AuditLog:
    """Opens transactions that end with the events of their changes. Made by `open_audit_log`."""

    def __init__(self, database: Database, keys: ChainKeys) -> None:
        self._database = database
        self._keys = keys
        self.people = PeopleInEvents(database, keys)
        self._refusals = _Rate(_MAX_REFUSALS)
        self._failures = _Rate(_MAX_REFUSALS)

    @asynccontextmanager
    async def writing(self) -> AsyncGenerator[tuple[AsyncConnection, list[Change]]]:
        """Yield a connection in a transaction, and the list of its changes, to be appended to.

        The events of the changes are the last statements of the transaction: they hold the lock of
        the chain until it ends. A change that changes nothing adds no event.
        """
        async with self.recording() as (connection, entries):
            changes: list[Change] = []
            yield connection, changes
            entries.extend(entry_of(each, self._keys) for each in changes if not each.is_empty)

    @asynccontextmanager
    async def attempt(self, action: str, object_id: str) -> AsyncGenerator[None]:
        """Record an attempt to do what only administrators may do, if the block refuses it.

        The event belongs to the organisation of the caller. A process records 60 in a minute.
        """
        try:
            yield
        except (PermissionDeniedError, NotFoundError):
            identity = caller().identity
            if not may_administer(identity) and self._refusals.admits():
                await self._refuse(Change(action, object_id, home(identity), refused=True))
            raise

    async def failed(self, change: Change) -> None:
        """Record a failure to sign in. A process records 60 in a minute."""
        if self._failures.admits():
            await self._refuse(change)

    async def _refuse(self, change: Change) -> None:
        try:
            async with self.recording() as (_, entries):
                entries.append(entry_of(change, self._keys))
        except UnavailableError as error:  # the caller gets the refusal all the same
            log.warning("refused attempt not recorded", action=change.action, cause=error.message)

    @asynccontextmanager
    async def recording(self) -> AsyncGenerator[tuple[AsyncConnection, list[Entry]]]:
        """Yield a connection likewise, and the list of the events that it adds."""
        async with self._database.writing() as connection:
            entries: list[Entry] = []
            yield connection, entries
            events = await append(connection, self._keys, entries)
        report(events)

    async def expire(self, days: int) -> None:
        """Delete the events that are older than `days`, and add an event about that."""
        oldest = int(time.time()) - days * 86_400
        async with self._database.writing() as connection:
            ends = await locked_ends(connection)
            query = select(func.min(audit_events.c.number))
            first = await connection.scalar(query.where(audit_events.c.recorded_at >= oldest))
            last = ends["last_number"] if first is None else first - 1
            if last <= ends["expired_number"]:
                return
            query_digest = select(audit_events.c.digest).where(audit_events.c.number == last)
            digest = await connection.scalar(query_digest)
            await connection.execute(delete(audit_events).where(audit_events.c.number <= last))
            numbers = f"{ends['expired_number'] + 1}-{last}"
            changed = ends | {"expired_number": last, "expired_digest": digest or ""}
            await _write_ends(connection, self._keys, changed)
            change = Change("audit.expire", "events", "", before={"events": numbers})
            events = await append(connection, self._keys, [entry_of(change, self._keys)])
        report(events)


async def open_audit_log(database: Database, encryption: Keys, *, refuse: bool = True) -> AuditLog:
    """Return the log of a database whose tables are of this version.

    Args:
        database: Where the events are.
        encryption: Encrypts the keys of the digests.
        refuse: Whether it is an error that no key of the log can be decrypted. If not, the log
            goes on with a new key.

    Raises:
        ValueError: No key can be decrypted. The message names the setting and the remedy.
    """
    async with database.writing() as connection:
        is_new = await _add_ends(connection)
        await locked_ends(connection)
        had_keys = await connection.scalar(select(func.count()).select_from(audit_keys))
        keys = await open_keys(connection, encryption, refuse=refuse)
        if is_new:
            await _begin(connection, keys, repaired=bool(had_keys))
    return AuditLog(database, keys)


async def append(
    connection: AsyncConnection, keys: ChainKeys, entries: Sequence[Entry]
) -> list[Entry]:
    """Add events at the end of the chain, and return them. They must end the transaction."""
    if not entries:
        return []
    ends = await locked_ends(connection)
    number, digest = ends["last_number"], ends["last_digest"]
    events = []
    for entry in entries:
        number += 1
        event = {"number": number, **entry, "key_id": keys.current, "previous_digest": digest}
        digest = event["digest"] = keys.of_event(event)
        events.append(event)
    await connection.execute(insert(audit_events), events)
    await _write_ends(connection, keys, ends | {"last_number": number, "last_digest": digest})
    return events


def report(events: Sequence[Entry]) -> None:
    """Write one line for each event to the log of the service. Call it after the transaction."""
    for event in events:
        log.info("audit", **{name: event[name] for name in _LOGGED})


async def _add_ends(connection: AsyncConnection) -> bool:
    values = {"id": CHAIN, "expired_number": 0, "last_number": 0}
    query = insertion(connection, audit_chain).values(**values).on_conflict_do_nothing()
    return bool((await connection.execute(query)).rowcount)


async def _begin(connection: AsyncConnection, keys: ChainKeys, *, repaired: bool) -> None:
    columns = (audit_events.c.number, audit_events.c.digest)
    rows = select(*columns).order_by(audit_events.c.number.desc()).limit(1)
    last = (await connection.execute(rows)).one_or_none()
    ends = await locked_ends(connection)
    if last is not None:
        ends |= {"last_number": last.number, "last_digest": last.digest}
    await _write_ends(connection, keys, ends)
    if repaired or last is not None:
        change = Change("audit.repair", "chain", "", after={"events": str(ends["last_number"])})
        report(await append(connection, keys, [entry_of(change, keys)]))


async def _write_ends(connection: AsyncConnection, keys: ChainKeys, ends: dict[str, Any]) -> None:
    values = ends | {"key_id": keys.current}
    values["digest"] = keys.of_ends(values)
    await connection.execute(update(audit_chain).where(audit_chain.c.id == CHAIN).values(**values))
