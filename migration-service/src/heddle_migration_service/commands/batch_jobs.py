"""Follows batch jobs: calls that process many rows and report their progress."""

from typing import Annotated, Any

import grpc
import typer
from heddle.migration.v1 import migration_pb2 as pb
from heddle_cli.connections import Connection
from heddle_cli.terminal import bars, notes, out
from heddle_runtime.errors import HeddleError

from heddle_migration_service.commands.reports import JsonLines, Report

DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Report what would change, and change nothing.")
]
MAX_SECONDS = 86_400.0
"""The timeout of the call of a batch job, whose duration is unknown."""


def follow_job(
    connection: Connection[Any],
    call: Any,  # noqa: ANN401 - a stream of gRPC, which has no type that iterates
    report: Report,
    *,
    dry_run: bool,
) -> bool:
    """Follow `call` to its end, and return whether no row was refused.

    Args:
        connection: The connection of the call.
        call: The call of `RunMigration`.
        report: Prints findings as they arrive, and the counts at the end.
        dry_run: Whether nothing is changed.

    Raises:
        HeddleError: The call failed. Its message has the progress.
    """
    by_table: dict[str, pb.Progress] = {}
    try:
        with bars(shown=out.is_terminal and not isinstance(report, JsonLines)) as drawn:
            tasks = {}
            for step in call:
                if step.left_behind:
                    report.left_behind(step.left_behind)
                    continue
                name, progress = step.table, step.progress
                by_table[name] = progress
                if name not in tasks:
                    tasks[name] = drawn.add_task(name)
                drawn.update(tasks[name], total=progress.total, completed=_seen(progress))
                for finding in step.findings:
                    report.finding(name, finding)
    except grpc.RpcError as error:
        raise _interrupted(connection.failure(error), by_table, dry_run=dry_run) from error
    except KeyboardInterrupt:
        notes.print(f"heddle: Stopped. {_completed(by_table, dry_run=dry_run)}", style="red")
        raise
    finally:
        call.cancel()  # the service stops too
    for name, progress in by_table.items():
        report.counts(name, progress)
    report.end()
    return not any(progress.refused for progress in by_table.values())


def _interrupted(
    known: HeddleError, by_table: dict[str, pb.Progress], *, dry_run: bool
) -> HeddleError:
    if not by_table:
        return known
    message = f"{known.message} {_completed(by_table, dry_run=dry_run)}"
    return type(known)(message, known.violations, retry_after=known.retry_after)


def _completed(by_table: dict[str, pb.Progress], *, dry_run: bool) -> str:
    if dry_run:
        return "Nothing was changed."
    parts = [
        f"{_seen(progress)} of {progress.total} {table}" for table, progress in by_table.items()
    ]
    return f"Done: {', '.join(parts) or 'nothing'}. Run it again; it goes on with the rest."


def _seen(progress: pb.Progress) -> int:
    return progress.changed + progress.unchanged + progress.refused
