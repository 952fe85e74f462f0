"""Events for the audit log, stored here until the assistants service has recorded them.

A change is acknowledged after its event is on disk. Events are sent in the order of their numbers,
and again if the assistants service did not answer; it records each once.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import structlog
from google.protobuf.timestamp_pb2 import Timestamp
from heddle.audit.v1 import audit_pb2 as pb
from heddle.audit.v1 import audit_pb2_grpc as pb_grpc
from heddle.audit.v1.audit_pb2_grpc import AuditServiceAsyncStub
from heddle_runtime.contract.audit import Change, field_changes
from heddle_runtime.errors import HeddleError
from heddle_runtime.identity.call_metadata import caller
from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.rpc.organization_settings import Channel
from heddle_runtime.serving.background import in_background

from heddle_knowledge.audit.events import WaitingEvents
from heddle_knowledge.collection.types import Collection

log = structlog.get_logger(__name__)
AUDIT = pb.DESCRIPTOR.services_by_name["AuditService"]
_PAUSE_SECONDS = 1.0
_LOOK_SECONDS = 0.05
_ADOPT_SECONDS = 10.0
"""Between two looks for events of other replicas."""


def audit_stub(assistants: Channel | None) -> "AuditServiceAsyncStub | None":
    """Return a client of the audit log, None without the assistants service."""
    return None if assistants is None else pb_grpc.AuditServiceStub(assistants)  # type: ignore[arg-type] # an in-process channel replaces a real one


class AuditOutbox:
    """Stores events, and sends them."""

    def __init__(self, waiting: WaitingEvents, stub: "AuditServiceAsyncStub | None") -> None:
        """Take the store of waiting events, and the service that records them.

        Without a service, events are only lines of the log.
        """
        self._waiting = waiting
        self._stub = stub
        self._added = asyncio.Event()
        self._failing = False

    @asynccontextmanager
    async def sending(self, credentials: ServiceCredentials) -> AsyncGenerator["AuditOutbox"]:
        """Send events in the background until the block ends."""
        if self._stub is None:
            yield self
            return
        self._added.set()  # events of the last run may be left
        async with in_background(self._run(credentials)):
            yield self

    async def add(self, change: Change) -> None:
        """Store the event of a change by the current caller, on disk. Call it before you answer."""
        if change.is_empty:
            return
        current = caller()
        log.info("audit", action=change.action, object_id=change.object_id)
        if self._stub is None:
            return
        identity = current.identity
        event = pb.AuditEvent(
            time=Timestamp(seconds=int(time.time())),
            organization=change.organization,
            actor=pb.Actor(
                subject=identity.subject,
                organization=identity.organization,
                scopes=identity.scopes,
                client_user=identity.client_user,
                key_id=identity.key_id,
            ),
            action=change.action,
            object_id=change.object_id,
            outcome=pb.OUTCOME_DONE,
            changes=[
                pb.FieldChange(name=each.name, before=each.before, after=each.after)
                for each in field_changes(change)
            ],
            request_id=current.request_id,
        )
        await self._waiting.add(event.SerializeToString())
        self._added.set()

    async def sent(self) -> None:
        """Wait until the assistants service has recorded all events, and leave none here."""
        if self._stub is None:
            return
        while (await self._waiting.first())[1]:
            self._added.set()
            await asyncio.sleep(_LOOK_SECONDS)
        await self._waiting.clean_up()

    async def _run(self, credentials: ServiceCredentials) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_ADOPT_SECONDS if self._waiting.shared else None):
                    await self._added.wait()
            self._added.clear()
            try:
                while await self._send(credentials):
                    pass
            except HeddleError as error:
                self._report(error.message)
                self._added.set()
            except Exception:  # nothing awaits this task: an error must not end it
                log.exception("events of the audit log not sent, will be retried")
                self._added.set()
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _send(self, credentials: ServiceCredentials) -> bool:
        assert self._stub is not None  # noqa: S101 - otherwise nothing is stored
        recorder, events = await self._waiting.first()
        if not events:
            return False
        request = pb.RecordAuditEventsRequest(recorder=recorder, events=events)
        await credentials.call(self._stub.RecordAuditEvents, request)
        await self._waiting.forget(events[-1].number)
        if self._failing:
            log.info("events of the audit log sent again")
            self._failing = False
        return True

    def _report(self, cause: str) -> None:
        if not self._failing:
            log.warning("events of the audit log not sent, will be retried", cause=cause)
        self._failing = True


def collection_change(action: str, before: Collection | None, after: Collection | None) -> Change:
    """Return the change of a collection."""
    collection = after or before
    assert collection is not None  # noqa: S101 - there is one of them
    return Change(
        f"collection.{action}",
        collection.public_id,
        collection.organization,
        None if before is None else _members(before),
        None if after is None else _members(after),
    )


def content_change(action: str, collection: Collection, **members: str) -> Change:
    """Return the change of something in a collection: a document or a file."""
    after = {"collection": collection.public_id, **members}
    return Change(action, collection.public_id, collection.organization, after=after)


def _members(collection: Collection) -> dict[str, object]:
    return {
        "name": collection.name,
        "title": collection.title,
        "owner": collection.owner,
        "sharing": collection.sharing,
        "language": collection.language,
        "metadata": dict(collection.metadata),
    }
