"""Stores audit events until the audit log has them."""

import uuid

from heddle.audit.v1 import audit_pb2 as pb
from heddle_runtime.storage.database.inserting import insertion
from sqlalchemy import bindparam, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_knowledge.database.opening import KnowledgeDatabase
from heddle_knowledge.database.schema import audit_outbox, audit_recorder

_BATCH = 500
_COLUMNS = audit_outbox.c
_NUMBER = update(audit_outbox).where(_COLUMNS.id == bindparam("event_id"))


class WaitingEvents:
    """Stores events, and returns them in the order in which they are sent.

    In PostgreSQL, any replica sends them, also those of one that is no more.
    """

    def __init__(self, database: KnowledgeDatabase) -> None:
        self._database = database
        self.shared = database.shared
        """Whether replicas send each other's events."""

    async def add(self, event: bytes) -> None:
        """Store an event, on disk when this returns."""
        async with self._database.writing() as connection:
            first = insertion(connection, audit_recorder).values(
                key=1, id=uuid.uuid4().hex, last_number=0
            )
            await connection.execute(first.on_conflict_do_nothing())
            await connection.execute(insert(audit_outbox).values(event=event))

    async def first(self) -> tuple[str, list[pb.RecordedEvent]]:
        """Return the recorder of the first events, and the events with ascending numbers."""
        async with self._database.reading() as connection:
            if (await connection.execute(select(_COLUMNS.id).limit(1))).first() is None:
                return "", []
        async with self._database.writing() as connection:
            recorder = await _numbered(connection)
            query = select(_COLUMNS.number, _COLUMNS.event).where(_COLUMNS.number.is_not(None))
            rows = await connection.execute(query.order_by(_COLUMNS.number).limit(_BATCH))
            return recorder, [
                pb.RecordedEvent(number=number, event=pb.AuditEvent.FromString(event))
                for number, event in rows
            ]

    async def forget(self, number: int) -> None:
        """Delete the events up to a number, which the audit log has."""
        async with self._database.writing() as connection:
            await connection.execute(delete(audit_outbox).where(_COLUMNS.number <= number))

    async def clean_up(self) -> None:
        """Leave nothing of deleted events in files."""
        await self._database.clean_up()


async def _numbered(connection: AsyncConnection) -> str:
    """Give numbers to events that have none, and return who records them."""
    row = (await connection.execute(select(audit_recorder).with_for_update())).one()
    query = select(_COLUMNS.id).where(_COLUMNS.number.is_(None)).order_by(_COLUMNS.id)
    new = (await connection.execute(query)).scalars().all()
    if new:
        numbers = [
            {"event_id": each, "number": number}
            for number, each in enumerate(new, row.last_number + 1)
        ]
        await connection.execute(_NUMBER, numbers)
        last = row.last_number + len(new)
        await connection.execute(update(audit_recorder).values(last_number=last))
    return str(row.id)
