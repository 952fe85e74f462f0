"""`heddle migrate`."""

from typing import Annotated

import typer
from heddle.migration.v1 import migration_pb2 as pb
from heddle.migration.v1.migration_pb2_grpc import MigrationServiceStub

from heddle_cli.batch_jobs import MAX_SECONDS, follow_job
from heddle_cli.connections import connected, new_call_options
from heddle_cli.options import MIGRATION, MigrationAddress
from heddle_cli.reports import JsonLines, Sentences

_MAX_IDS = 1000


def migrate(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Only these assistants.")
    ] = None,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be migrated, change nothing.")
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="Migrate all assistants.")] = False,
    rollback: Annotated[
        bool, typer.Option("--rollback", help="Take migrations back, byte for byte.")
    ] = False,
    discard_edits: Annotated[
        bool,
        typer.Option(
            "--discard-edits", help="With --rollback: also where somebody edited it since."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")] = False,
    migration_address: MigrationAddress = MIGRATION,
) -> None:
    """Bring assistants of LAMB's format to the newest one, or back.

    Exactly one of --dry-run, --all, --rollback and IDs; --dry-run and --rollback take IDs too.
    Nobody has to migrate: an assistant is migrated when it is first used. Whatever stops it, it
    goes on when it is started again. The exit code is 1 if something was refused.
    """
    some = ids or []
    _check(
        some,
        dry_run=dry_run,
        everything=everything,
        rollback=rollback,
        discard_edits=discard_edits,
    )
    service = pb.DESCRIPTOR.services_by_name["MigrationService"]
    changed = "restored" if rollback else "to be migrated" if dry_run else "migrated"
    report = JsonLines(dry_run=dry_run) if as_json else Sentences(changed)
    with connected(migration_address, service) as connection:
        stub = MigrationServiceStub(connection.channel)
        if rollback:
            rollback_request = pb.RollbackAssistantsRequest(ids=some, discard_edits=discard_edits)
            call = stub.RollbackAssistants(rollback_request, **new_call_options(MAX_SECONDS))
            nothing_refused = follow_job(connection, call, _table, report, dry_run=False)
        else:
            migrate_request = pb.MigrateAssistantsRequest(ids=some, dry_run=dry_run)
            calls = stub.MigrateAssistants(migrate_request, **new_call_options(MAX_SECONDS))
            nothing_refused = follow_job(connection, calls, _table, report, dry_run=dry_run)
    if not nothing_refused:
        raise typer.Exit(1)


def _table(_: object) -> str:
    return "assistants"


def _check(
    ids: list[str], *, dry_run: bool, everything: bool, rollback: bool, discard_edits: bool
) -> None:
    modes = dry_run + everything + rollback
    if modes > 1 or (everything and ids) or not (ids or modes):
        raise typer.BadParameter("Say exactly one of --dry-run, --all, --rollback and IDs.")
    if discard_edits and not rollback:
        raise typer.BadParameter("--discard-edits goes with --rollback.")
    if len(ids) > _MAX_IDS:
        raise typer.BadParameter(f"At most {_MAX_IDS} IDs at once.")
