"""Events, as callers read them."""

from typing import Any

from assistants.serving import ADMIN, Service
from heddle.audit.v1 import audit_pb2 as pb
from heddle.audit.v1.audit_pb2_grpc import AuditServiceStub
from heddle_runtime.identity.callers import Identity


async def events(
    service: Service, identity: Identity = ADMIN, **filters: Any
) -> list[pb.AuditEvent]:
    """Return the events that a caller may read, the oldest first."""
    caller = service.as_(identity)
    stub = AuditServiceStub(service.connection)
    collected: list[pb.AuditEvent] = []
    token = ""
    while True:
        request = pb.ListAuditEventsRequest(page_token=token, **filters)
        page = await caller.ask(stub.ListAuditEvents, request)
        collected += page.events
        if not (token := page.next_page_token):
            return collected[::-1]


async def faults(service: Service, known: pb.KnownEvent | None = None) -> list[str]:
    """Return what is wrong with the log."""
    caller = service.as_(ADMIN)
    stub = AuditServiceStub(service.connection)
    descriptions: list[str] = []
    token = ""
    while True:
        request = pb.VerifyAuditEventsRequest(page_token=token, known=known)
        part = await caller.ask(stub.VerifyAuditEvents, request)
        descriptions += (each.description for each in part.faults)
        if not (token := part.next_page_token):
            return descriptions


def changed(event: pb.AuditEvent) -> dict[str, tuple[str | None, str | None]]:
    """Return the fields that differ, with their values."""
    return {
        each.name: (
            each.before if each.HasField("before") else None,
            each.after if each.HasField("after") else None,
        )
        for each in event.changes
    }
