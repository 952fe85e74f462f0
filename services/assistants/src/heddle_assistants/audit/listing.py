"""Reads audit events."""

import json

from google.protobuf.timestamp_pb2 import Timestamp
from heddle.audit.v1 import audit_pb2 as pb
from heddle_runtime.identity.callers import Identity, home
from heddle_runtime.identity.permissions import may_administer
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import ColumnElement, RowMapping, and_, select, true

from heddle_assistants.audit.entries import REFUSED
from heddle_assistants.database.schema import audit_events

_TEXT_FILTERS = ("organization", "subject", "object_type", "object_id")


async def listed(
    database: Database,
    identity: Identity,
    request: pb.ListAuditEventsRequest,
    before: int | None,
    limit: int,
) -> list[pb.AuditEvent]:
    """Return events, the newest first.

    Args:
        database: The database of the events.
        identity: The caller, an administrator.
        request: The filters.
        before: The number after the first.
        limit: The maximum number of results.
    """
    query = select(audit_events).where(_visible(identity), _selected(request))
    if before is not None:
        query = query.where(audit_events.c.number < before)
    query = query.order_by(audit_events.c.number.desc()).limit(limit)
    async with database.reading() as connection:
        return [_message(row) for row in (await connection.execute(query)).mappings()]


def _visible(identity: Identity) -> ColumnElement[bool]:
    if may_administer(identity):
        return true()
    return audit_events.c.organization == home(identity)


def _selected(request: pb.ListAuditEventsRequest) -> ColumnElement[bool]:
    conditions: list[ColumnElement[bool]] = [
        audit_events.c[name] == value.replace("\0", "\ufffd")
        for name in _TEXT_FILTERS
        if (value := getattr(request, name))
    ]
    if request.HasField("since"):
        conditions.append(audit_events.c.recorded_at >= request.since.seconds)
    if request.HasField("until"):
        conditions.append(audit_events.c.recorded_at < request.until.seconds)
    return and_(true(), *conditions)


def _message(row: RowMapping) -> pb.AuditEvent:
    return pb.AuditEvent(
        number=row["number"],
        time=Timestamp(seconds=row["recorded_at"]),
        organization=row["organization"],
        actor=pb.Actor(
            subject=row["subject"],
            organization=row["subject_organization"],
            scopes=row["scopes"].split(),
            client_user=row["client_user"],
            key_id=row["api_key_id"],
        ),
        action=row["action"],
        object_type=row["object_type"],
        object_id=row["object_id"],
        outcome=pb.OUTCOME_REFUSED if row["outcome"] == REFUSED else pb.OUTCOME_DONE,
        changes=[
            pb.FieldChange(name=name, before=before, after=after)
            for name, before, after in json.loads(row["changes"])
        ],
        before_digest=row["before_digest"],
        after_digest=row["after_digest"],
        request_id=row["request_id"],
        trace_id=row["trace_id"],
        digest=row["digest"],
    )
