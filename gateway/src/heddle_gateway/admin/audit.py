"""`/audit`: who changed what."""

from typing import Annotated, Literal

from google.protobuf.timestamp_pb2 import Timestamp as TimestampMessage
from heddle.audit.v1 import audit_pb2 as pb
from heddle_runtime.enums import enum_names
from pydantic import Field

from heddle_gateway.http.models import Model, PageSize, PageToken, Seconds, Text
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import call

_OUTCOMES = enum_names(pb.Outcome.DESCRIPTOR)
_LAST_SECOND = 253_402_300_799  # of the year 9999, the last one that a timestamp holds
Moment = Annotated[int, Field(ge=0, le=_LAST_SECOND)]
routes = Routes("audit")


class Actor(Model):
    """Who made a change."""

    subject: str = Field(description="The user or application. Empty for a service itself.")
    organization: str = Field(description="The organisation that the actor acted in.")
    scopes: list[str]
    client_user: str = Field(
        description="The name that a trusted application uses for a user without an address."
    )
    key_id: str = Field(
        description="The API key of the request: the id of an issued key, `settings`, "
        "`settings:trusted`, or `file:` and the number of a key in the keys file. Empty for "
        "calls without an API key."
    )


class FieldChange(Model):
    """One field that differs after a change."""

    name: str
    before: str | None = Field(
        description="The value before: null if there was none, or if the log does not contain it."
    )
    after: str | None = Field(description="The value after, likewise.")


class AuditEvent(Model):
    """One event: who changed what."""

    number: int = Field(description="Numbers have no gaps. The oldest event is number 1.")
    time: Seconds
    organization: str = Field(
        description="The organisation of the object; empty if it belongs to several or none."
    )
    actor: Actor
    action: str = Field(description="The type of the object, `.` and a verb.")
    object_type: str
    object_id: str
    outcome: Literal["done", "refused"] = Field(
        description="`refused` if the caller may not make the change, so that nothing changed."
    )
    changes: list[FieldChange]
    before_digest: str = Field(description="A keyed digest of the object before; empty if new.")
    after_digest: str = Field(description="A keyed digest of the object after; empty if deleted.")
    request_id: str
    trace_id: str
    digest: str = Field(description="The digest of the event in the chain of all events.")


class AuditPage(Model):
    """A page of events."""

    events: list[AuditEvent]
    next_page_token: str = Field(description="Empty on the last page.")


class AuditQuery(Model):
    """The query of the list of events."""

    page_size: PageSize
    page_token: PageToken
    organization: Text = Field(default="", description="Only events of this organisation.")
    subject: Text = Field(default="", description="Only events of this actor.")
    object_type: Text = Field(
        default="", description="Only events about objects of this type, such as `assistant`."
    )
    object_id: Text = Field(default="", description="Only events about this object.")
    since: Moment | None = Field(
        default=None, description="Only events at this time or later, in seconds since 1970."
    )
    until: Moment | None = Field(
        default=None, description="Only events before this time, in seconds since 1970."
    )


@routes.get("/audit", errors=(400, 403))
async def list_events(api: Call, query: AuditQuery) -> AuditPage:
    """List the events of the audit log, the newest first.

    Only administrators may read it. An administrator of an organisation sees the events of that
    organisation.
    """
    request = pb.ListAuditEventsRequest(
        **query.model_dump(exclude={"since", "until"}),
        since=_timestamp(query.since),
        until=_timestamp(query.until),
    )
    page = await call(api.services.audit.ListAuditEvents, request)
    events = [_event(each) for each in page.events]
    return AuditPage(events=events, next_page_token=page.next_page_token)


def _timestamp(seconds: int | None) -> TimestampMessage | None:
    return None if seconds is None else TimestampMessage(seconds=seconds)


def _event(event: pb.AuditEvent) -> AuditEvent:
    return AuditEvent.of(
        event,
        time=event.time.seconds,
        actor=Actor.of(event.actor, scopes=list(event.actor.scopes)),
        outcome=_OUTCOMES[event.outcome],
        changes=[
            FieldChange(
                name=each.name,
                before=each.before if each.HasField("before") else None,
                after=each.after if each.HasField("after") else None,
            )
            for each in event.changes
        ],
    )
