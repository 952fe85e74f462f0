"""Checks that no event was changed, removed or inserted."""

import asyncio
import hmac
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from heddle.audit.v1 import audit_pb2 as pb
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import RowMapping, select
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.audit.chain import ChainKeys, read_keys
from heddle_assistants.database.encryption import Keys
from heddle_assistants.database.schema import audit_chain, audit_events

PART = 2_000
"""The number of events that one call verifies."""


@dataclass(slots=True)
class Part:
    """A part of the chain, read in one transaction."""

    keys: ChainKeys
    ends: RowMapping
    before: RowMapping | None
    """The event before the first, None at the beginning."""
    events: Sequence[RowMapping]
    is_last: bool
    faults: list[pb.ChainFault] = field(default_factory=list)

    def check(self, known: pb.KnownEvent | None) -> None:
        """Collect the faults."""
        number = self.before["number"] if self.before else self.ends["expired_number"]
        digest = self.before["digest"] if self.before else self.ends["expired_digest"]
        valid = True
        for event in self.events:
            missing = event["number"] > number + 1
            if missing:
                self._fault(number + 1, event["number"] - 1, "missing")
            problem = self._problem(event)
            if problem:
                self._fault(event["number"], event["number"], problem)
            elif valid and not missing and event["previous_digest"] != digest:
                what = f"not a successor of event {number}: one of both was replaced"
                self._fault(event["number"], event["number"], what)
            number, digest, valid = event["number"], event["digest"], not problem
        if self.is_last:
            self._check_end(number, digest, valid=valid)
        if known is not None:
            self.faults += self._of_known(known)

    def _check_end(self, number: int, digest: str, *, valid: bool) -> None:
        ends = self.ends
        last = ends["last_number"]
        if not (
            self.keys.knows(ends["key_id"])
            and hmac.compare_digest(self.keys.of_ends(ends), ends["digest"])
        ):
            self._fault(last, last, "recorded as the newest in a record that was changed")
        if last > number:
            self._fault(number + 1, last, "missing")
        elif last < number:
            self._fault(last + 1, number, "inserted after the newest event")
        elif valid and digest != ends["last_digest"]:
            self._fault(number, number, "not the one that was recorded as the newest")

    def _problem(self, event: RowMapping) -> str:
        if not self.keys.knows(event["key_id"]):
            return "not verifiable: its key is encrypted with another secret, or was removed"
        if event["erased_digest"]:
            matches = hmac.compare_digest(self.keys.of_erased_event(event), event["erased_digest"])
        else:
            matches = hmac.compare_digest(self.keys.of_event(event), event["digest"])
        return "" if matches else "changed or inserted"

    def _of_known(self, known: pb.KnownEvent) -> Iterator[pb.ChainFault]:
        same = [event["digest"] for event in self.events if event["number"] == known.number]
        if same and same[0] != known.digest:
            yield _fault(known.number, known.number, "another than the known one")
        elif self.is_last and known.number > max(self.ends["last_number"], 0):
            yield _fault(self.ends["last_number"] + 1, known.number, "missing")

    def _fault(self, first: int, last: int, what: str) -> None:
        self.faults.append(_fault(first, last, what))


async def verified(
    database: Database, encryption: Keys, after: int, known: pb.KnownEvent | None
) -> Part:
    """Verify the part of the chain after the event `after`, and return it."""
    async with database.reading() as connection:
        part = await _read(connection, encryption, after)
    await asyncio.to_thread(part.check, known)
    return part


async def _read(connection: AsyncConnection, encryption: Keys, after: int) -> Part:
    keys = ChainKeys(await read_keys(connection, encryption), "")
    ends = (await connection.execute(select(audit_chain))).mappings().one()
    query = select(audit_events).where(audit_events.c.number == after)
    before = (await connection.execute(query)).mappings().one_or_none() if after else None
    rows = select(audit_events).where(audit_events.c.number > after)
    rows = rows.order_by(audit_events.c.number).limit(PART + 1)
    events = (await connection.execute(rows)).mappings().all()
    return Part(keys, ends, before, events[:PART], len(events) <= PART)


def _fault(first: int, last: int, what: str) -> pb.ChainFault:
    events = f"Event {first} is" if first == last else f"Events {first} to {last} are"
    return pb.ChainFault(first_number=first, last_number=last, description=f"{events} {what}.")
