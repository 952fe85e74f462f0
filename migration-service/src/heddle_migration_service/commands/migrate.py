"""`heddle migrate`."""

from collections.abc import Sequence
from typing import Annotated

import typer
from heddle.assistant.v1 import jobs_pb2
from heddle.migration.v1 import migration_pb2 as pb
from heddle.migration.v1.migration_pb2_grpc import MigrationServiceStub
from heddle_cli.connections import connected
from heddle_cli.options import AsJsonLines

from heddle_migration_service.commands.batch_jobs import MAX_SECONDS, DryRun, follow_job
from heddle_migration_service.commands.reports import JsonLines, Sentences

_MAX_IDS = 1000


def migrate(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Only these assistants.")
    ] = None,
    *,
    dry_run: DryRun = False,
    everything: Annotated[bool, typer.Option("--all", help="Migrate all assistants.")] = False,
    rollback: Annotated[
        bool,
        typer.Option("--rollback", help="Restore the rows as they were before, byte for byte."),
    ] = False,
    discard_edits: Annotated[
        bool,
        typer.Option(
            "--discard-edits", help="With --rollback: also assistants that were edited since."
        ),
    ] = False,
    as_json: AsJsonLines = False,
) -> None:
    """Convert assistants from LAMB's format to the newest one, or back.

    Exactly one of --dry-run, --all, --rollback and IDs; --dry-run and --rollback take IDs too.
    Migration is optional: an assistant is migrated when it is first used. An interrupted command
    continues when it is repeated. The exit code is 1 if a row was refused.
    """
    some = ids or []
    modes = dry_run + everything + rollback
    if modes > 1 or (everything and some) or not (some or modes):
        raise typer.BadParameter("Use exactly one of --dry-run, --all, --rollback and IDs.")
    if discard_edits and not rollback:
        raise typer.BadParameter("--discard-edits needs --rollback.")
    _check_number(some)
    changed = "restored" if rollback else "to be migrated" if dry_run else "migrated"
    report = JsonLines(dry_run=dry_run) if as_json else Sentences(changed)
    with connected("migration", MigrationServiceStub) as connection:
        request = pb.RunMigrationRequest(
            kind=jobs_pb2.JOB_KIND_ROLLBACK if rollback else jobs_pb2.JOB_KIND_SWEEP,
            ids=some,
            dry_run=dry_run,
            discard_edits=discard_edits,
        )
        call = connection.stub.RunMigration(request, timeout=MAX_SECONDS)
        if not follow_job(connection, call, report, dry_run=dry_run):
            raise typer.Exit(1)


def _check_number(ids: Sequence[str]) -> None:
    if len(ids) > _MAX_IDS:
        raise typer.BadParameter(f"At most {_MAX_IDS} IDs at once.")
