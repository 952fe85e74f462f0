"""`heddle.audit.v1.AuditService`."""

from heddle.audit.v1 import audit_pb2 as pb
from heddle.audit.v1 import audit_pb2_grpc as pb_grpc
from heddle_runtime.contract.paging import cut, page_size, write_token
from heddle_runtime.errors import PermissionDeniedError
from heddle_runtime.identity.call_metadata import Context, caller
from heddle_runtime.identity.callers import home
from heddle_runtime.identity.permissions import (
    may_administer_in,
    require_administrator,
    require_service,
)
from heddle_runtime.storage.database.engine import Database

from heddle_assistants.audit.listing import listed
from heddle_assistants.audit.log import AuditLog
from heddle_assistants.audit.recorded import record
from heddle_assistants.audit.verification import verified
from heddle_assistants.database.encryption import Keys
from heddle_assistants.database.paging import row_before


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
