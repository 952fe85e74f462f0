"""`heddle.audit.v1.AuditService`."""

import json

from google.protobuf.timestamp_pb2 import Timestamp
from heddle.audit.v1 import audit_pb2 as pb
from heddle.audit.v1 import audit_pb2_grpc as pb_grpc
from heddle_runtime.contract.paging import cut, page_size, write_token
from heddle_runtime.errors import PermissionDeniedError
from heddle_runtime.identity.call_metadata import Context, caller
from heddle_runtime.identity.callers import Identity, home
from heddle_runtime.identity.permissions import (
    may_administer,
    may_administer_in,
    require_administrator,
    require_service,
)
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import ColumnElement, RowMapping, and_, select, true

from heddle_assistants.audit.entries import REFUSED
from heddle_assistants.audit.log import AuditLog
from heddle_assistants.audit.recorded import record
from heddle_assistants.audit.verification import verified
from heddle_assistants.database.encryption import Keys
from heddle_assistants.database.paging import row_before
from heddle_assistants.database.schema import audit_events

_TEXT_FILTERS = ("organization", "subject", "object_type", "object_id")


class AuditServicer(pb_grpc.AuditServiceServicer):
    """Translates between the contract and the tables, and enforces the permissions."""

    def __init__(self, database: Database, log: AuditLog, encryption: Keys) -> None:
        self._database = database
        self._log = log
        self._encryption = encryption

    async def ListAuditEvents(
        self, request: pb.ListAuditEventsRequest, context: Context
    ) -> pb.ListAuditEventsResponse:
        """List the events that the caller may read."""
        identity = caller().identity
        async with self._log.attempt("audit.read", "events"):
            if not may_administer_in(identity, home(identity)):
                raise PermissionDeniedError("Only administrators may read the audit log.")
        limit = page_size(request.page_size)
        before = row_before(request.page_token) if request.page_token else None
        events = await listed(self._database, identity, request, before, limit + 1)
        shown, token = cut(events, limit, lambda event: str(event.number))
        return pb.ListAuditEventsResponse(events=shown, next_page_token=token)

    async def VerifyAuditEvents(
        self, request: pb.VerifyAuditEventsRequest, context: Context
    ) -> pb.VerifyAuditEventsResponse:
        """Verify one part of the chain."""
        require_administrator(caller().identity)
        known = request.known if request.HasField("known") else None
        after = row_before(request.page_token)
        part = await verified(self._database, self._encryption, after, known)
        response = pb.VerifyAuditEventsResponse(
            verified_count=len(part.events),
            faults=part.faults,
            expired_number=part.ends["expired_number"],
        )
        if not part.is_last:
            response.next_page_token = write_token(str(part.events[-1]["number"]))
        else:
            response.newest.number = part.ends["last_number"]
            response.newest.digest = part.ends["last_digest"]
        return response

    async def RecordAuditEvents(
        self, request: pb.RecordAuditEventsRequest, context: Context
    ) -> pb.RecordAuditEventsResponse:
        """Add events of another service."""
        require_service(caller().identity)
        await record(self._log, request)
        return pb.RecordAuditEventsResponse()


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
