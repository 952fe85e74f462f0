"""Records audit events that other services send."""

import time

from heddle.audit.v1 import audit_pb2 as pb
from heddle_runtime.errors import InvalidRequestError, Violation
from heddle_runtime.storage.database.inserting import insertion
from sqlalchemy import Table, delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.audit.entries import (
    DONE,
    REFUSED,
    Entry,
    storable,
    stored_changes,
)
from heddle_assistants.audit.log import AuditLog
from heddle_assistants.database.schema import audit_recorders

MAX_EVENTS = 1_000
MAX_RECORDER = 64
_MAX_CHANGES = 100
_FORGOTTEN = 400 * 86_400  # seconds after a recorder's last event


async def record(log: AuditLog, request: pb.RecordAuditEventsRequest) -> None:
    """Add events, except those that are recorded already.

    Raises:
        InvalidRequestError: There are too many, or a name is too long.
    """
    _check(request)
    async with log.recording() as (connection, entries):
        before = await last_number(connection, audit_recorders, request.recorder, _FORGOTTEN)
        new = [each for each in request.events if each.number > before]
        if not new:
            return
        last = max(each.number for each in new)
        query = update(audit_recorders).where(audit_recorders.c.recorder == request.recorder)
        await connection.execute(query.values(last_number=last, recorded_at=int(time.time())))
        new.sort(key=lambda each: each.number)
        entries.extend(_entry(each.event) for each in new)


def _check(request: pb.RecordAuditEventsRequest) -> None:
    violations = []
    if len(request.events) > MAX_EVENTS:
        violations.append(Violation("events", f"must be at most {MAX_EVENTS}"))
    if len(request.recorder) > MAX_RECORDER or "\0" in request.recorder:
        violations.append(Violation("recorder", f"must be at most {MAX_RECORDER} characters"))
    if violations:
        raise InvalidRequestError("The events are not valid.", violations)


async def last_number(
    connection: AsyncConnection, recorders: Table, recorder: str, forgotten: int
) -> int:
    """Return the number of a recorder's last entry, locked until the transaction ends.

    Args:
        connection: The connection of the transaction.
        recorders: The table with the last number of each recorder.
        recorder: The recorder.
        forgotten: Seconds after its last entry in which a recorder is forgotten.
    """
    now = int(time.time())
    values = {"recorder": recorder, "last_number": 0, "recorded_at": now}
    query_new = insertion(connection, recorders).values(**values).on_conflict_do_nothing()
    if (await connection.execute(query_new)).rowcount:
        old = recorders.c.recorded_at < now - forgotten
        await connection.execute(delete(recorders).where(old))
    query = select(recorders.c.last_number).where(recorders.c.recorder == recorder)
    # SQLite has no such words and needs none: a writer is alone.
    number: int = (await connection.execute(query.with_for_update())).scalar_one()
    return number


def _entry(event: pb.AuditEvent) -> Entry:
    actor = event.actor
    return {
        "recorded_at": event.time.seconds or int(time.time()),
        "organization": storable(event.organization),
        "subject": storable(actor.subject),
        "subject_organization": storable(actor.organization),
        "scopes": storable(" ".join(actor.scopes)),
        "client_user": storable(actor.client_user),
        "api_key_id": storable(actor.key_id),
        "action": storable(event.action),
        "object_type": storable(event.action.partition(".")[0]),
        "object_id": storable(event.object_id),
        "outcome": REFUSED if event.outcome == pb.OUTCOME_REFUSED else DONE,
        "changes": stored_changes([_change(each) for each in event.changes[:_MAX_CHANGES]]),
        "before_digest": storable(event.before_digest),
        "after_digest": storable(event.after_digest),
        "request_id": storable(event.request_id),
        "trace_id": storable(event.trace_id),
    }


def _change(change: pb.FieldChange) -> list[str | None]:
    before = storable(change.before) if change.HasField("before") else None
    after = storable(change.after) if change.HasField("after") else None
    return [storable(change.name), before, after]
