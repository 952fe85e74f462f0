"""`heddle import-lamb`."""

from typing import Annotated

import typer
from heddle.migration.v1 import migration_pb2 as pb
from heddle.migration.v1.migration_pb2_grpc import MigrationServiceStub

from heddle_cli.batch_jobs import MAX_SECONDS, follow_job
from heddle_cli.connections import connected, new_call_options
from heddle_cli.options import MIGRATION, MigrationAddress
from heddle_cli.reports import JsonLines, Sentences


def import_lamb(
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be imported, change nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")] = False,
    migration_address: MigrationAddress = MIGRATION,
) -> None:
    """Copy what a LAMB database holds into Heddle's: organisations, users, assistants, rubrics.

    The service reads the database that HEDDLE_MIGRATION_LAMB_DATABASE names and never writes to it.
    Ids are kept. What was imported before stays as it is in Heddle, so the command may run as often
    as one likes. The exit code is 1 if something was refused.
    """
    service = pb.DESCRIPTOR.services_by_name["MigrationService"]
    changed = "to be imported" if dry_run else "imported"
    report = JsonLines(dry_run=dry_run) if as_json else Sentences(changed)
    with connected(migration_address, service) as connection:
        stub = MigrationServiceStub(connection.channel)
        call = stub.ImportLamb(
            pb.ImportLambRequest(dry_run=dry_run), **new_call_options(MAX_SECONDS)
        )
        if not follow_job(connection, call, lambda step: step.table, report, dry_run=dry_run):
            raise typer.Exit(1)
