"""`heddle import-lamb`."""

from pathlib import Path
from typing import Annotated

import typer
from heddle.assistant.v1 import jobs_pb2
from heddle.migration.v1 import migration_pb2 as pb
from heddle.migration.v1.migration_pb2_grpc import MigrationServiceStub
from heddle_cli.connections import connected
from heddle_cli.options import AsJsonLines
from heddle_runtime.errors import InvalidRequestError

from heddle_migration_service.commands.batch_jobs import MAX_SECONDS, DryRun, follow_job
from heddle_migration_service.commands.reports import JsonLines, Report, ReportFile, Sentences


def import_lamb(
    *,
    dry_run: DryRun = False,
    as_json: AsJsonLines = False,
    report_file: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Also write a report: JSON if the name ends in .json, else Markdown.",
        ),
    ] = None,
    knowledge: Annotated[
        bool,
        typer.Option(
            "--knowledge", help="Also copy the collections of LAMB's knowledge-base servers."
        ),
    ] = False,
    language: Annotated[
        str,
        typer.Option(metavar="TAG", help="With --knowledge: the language of the documents."),
    ] = "",
    embedding_model: Annotated[
        str,
        typer.Option(metavar="NAME", help="With --knowledge: the model that embeds documents."),
    ] = "",
) -> None:
    """Copy the organisations, users, assistants and rubrics of a LAMB database to Heddle.

    The service reads the database of HEDDLE_MIGRATION_LAMB_DATABASE and never writes to it.
    With --knowledge, collections are copied with their files, and embedded again.
    Identifiers stay the same. Rows that were imported before are not changed, so the command can
    be repeated. A dry run names every assistant that will not answer, and why. The exit code is 1
    if a row was refused.
    """
    if (language or embedding_model) and not knowledge:
        raise InvalidRequestError("--language and --embedding-model are for --knowledge.")
    changed = "to be imported" if dry_run else "imported"
    report: Report = JsonLines(dry_run=dry_run) if as_json else Sentences(changed)
    if report_file is not None:
        report = ReportFile(report_file, report, dry_run=dry_run)
    with connected("migration", MigrationServiceStub) as connection:
        request = pb.RunMigrationRequest(kind=jobs_pb2.JOB_KIND_IMPORT, dry_run=dry_run)
        if knowledge:
            options = pb.KnowledgeImport(language=language, embedding_model=embedding_model)
            request.knowledge.CopyFrom(options)
        call = connection.stub.RunMigration(request, timeout=MAX_SECONDS)
        if not follow_job(connection, call, report, dry_run=dry_run):
            raise typer.Exit(1)
