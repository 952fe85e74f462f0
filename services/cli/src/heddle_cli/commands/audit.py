"""`heddle audit`."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated

import typer
from google.protobuf.timestamp_pb2 import Timestamp
from heddle.audit.v1 import audit_pb2 as pb
from heddle.audit.v1.audit_pb2_grpc import AuditServiceStub

from heddle_cli.connections import connected
from heddle_cli.options import AsJson
from heddle_cli.pages import document, pages
from heddle_cli.terminal import counted, notes, out, plain, show

app = typer.Typer(help="Read and verify the audit log: who changed what.", no_args_is_help=True)
_HEAD = ("NUMBER", "TIME", "ACTOR", "KEY", "ORGANISATION", "ACTION", "OBJECT", "OUTCOME", "CHANGES")
_KNOWN = re.compile(r"(?P<number>[1-9][0-9]{0,17}):(?P<digest>[0-9a-f]{64})")
_VERIFYING = 60.0
_FORMATS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]
_MAX_SHOWN = 20


@app.command("list")
def list_events(
    *,
    subject: Annotated[str, typer.Option(help="Only events of this actor.")] = "",
    organization: Annotated[str, typer.Option(help="Only events of this organisation.")] = "",
    object_: Annotated[
        str,
        typer.Option(
            "--object",
            metavar="TYPE[:ID]",
            help="Only events about objects of a type, or one of them: assistant:12.",
        ),
    ] = "",
    since: Annotated[
        datetime | None, typer.Option(formats=_FORMATS, help="Only events at this time or later.")
    ] = None,
    until: Annotated[
        datetime | None, typer.Option(formats=_FORMATS, help="Only events before this time.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="The most events to list.")] = 100,
    as_json: AsJson = False,
) -> None:
    """List events, the newest first. Times are UTC."""
    object_type, _, object_id = object_.partition(":")
    request = pb.ListAuditEventsRequest(
        page_size=min(limit, 1000),
        organization=organization,
        subject=subject,
        object_type=object_type,
        object_id=object_id,
        since=_timestamp(since),
        until=_timestamp(until),
    )
    with connected("assistants", AuditServiceStub) as connection:
        events: list[pb.AuditEvent] = []
        for page in pages(connection.stub.ListAuditEvents, request):
            events += page.events
            if len(events) >= limit:
                break
    show(
        document(pb.ListAuditEventsResponse(events=events[:limit])),
        map(_row, events[:limit]),
        as_json=as_json,
        head=_HEAD,
        without="There are no such events.",
    )


@app.command("verify")
def verify(
    *,
    known: Annotated[
        str,
        typer.Option(
            metavar="NUMBER:DIGEST",
            help="The newest event of an earlier verification. Shows whether the database was "
            "replaced by an older copy.",
        ),
    ] = "",
) -> None:
    """Verify that no event was changed, removed or inserted.

    The exit code is 1 if the log is not valid.
    """
    match = _KNOWN.fullmatch(known)
    if known and match is None:
        raise typer.BadParameter("Write NUMBER:DIGEST.", param_hint="--known")
    event = pb.KnownEvent(number=int(match["number"]), digest=match["digest"]) if match else None
    count, faults = 0, 0
    with connected("assistants", AuditServiceStub) as connection:
        request = pb.VerifyAuditEventsRequest(known=event)
        for part in pages(connection.stub.VerifyAuditEvents, request, _VERIFYING):
            count += part.verified_count
            faults += len(part.faults)
            for fault in part.faults:
                out.print(plain(fault.description), style="red")
    if part.expired_number:
        notes.print(f"Events 1 to {part.expired_number} have expired.", style="dim")
    if faults:
        out.print(f"{counted(count, 'event')}, {counted(faults, 'fault')}: the log is not valid.")
        raise typer.Exit(1)
    out.print(f"{counted(count, 'event')}: the log is valid.")
    if part.newest.number:
        out.print(f"newest {part.newest.number}:{part.newest.digest}")


def _timestamp(moment: datetime | None) -> Timestamp | None:
    if moment is None:
        return None
    return Timestamp(seconds=int(moment.replace(tzinfo=UTC).timestamp()))


def _row(event: pb.AuditEvent) -> tuple[str, ...]:
    return (
        str(event.number),
        _time(event),
        event.actor.subject or "-",
        event.actor.key_id or "-",
        event.organization or "-",
        event.action,
        event.object_id,
        _outcome(event),
        " ".join(_changes(event)) or "-",
    )


def _changes(event: pb.AuditEvent) -> Iterator[str]:
    for change in event.changes[:_MAX_SHOWN]:
        if not (change.HasField("before") or change.HasField("after")):
            yield change.name
        else:
            before = f"{change.before} → " if change.HasField("before") else ""
            yield f"{change.name}={before}{change.after or '-'}"
    if len(event.changes) > _MAX_SHOWN:
        yield f"and {len(event.changes) - _MAX_SHOWN} more"


def _time(event: pb.AuditEvent) -> str:
    return f"{datetime.fromtimestamp(event.time.seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _outcome(event: pb.AuditEvent) -> str:
    return pb.Outcome.Name(event.outcome).removeprefix("OUTCOME_").lower()
