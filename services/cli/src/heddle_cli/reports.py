"""The output of batch jobs, as text and as JSON."""

import json
from typing import Protocol

from heddle.migration.v1 import migration_pb2 as pb
from heddle_runtime.errors import from_status

from heddle_cli.failures import sentence
from heddle_cli.terminal import out, plain


class Report(Protocol):
    """Prints the findings and the counts of a batch job."""

    def finding(self, table: str, finding: pb.Finding) -> None:
        """Print a row that was refused or that the operator should check."""

    def counts(self, table: str, progress: pb.Progress) -> None:
        """Print the results of all rows of a table."""


class Sentences:
    """Sentences for operators."""

    def __init__(self, changed: str) -> None:
        """Take the word for changed rows, for example `migrated`."""
        self._changed = changed

    def finding(self, table: str, finding: pb.Finding) -> None:
        """Print a line."""
        refused = finding.HasField("error")
        notes = [*finding.notes, *([sentence(from_status(finding.error))] if refused else ())]
        line = f"{'refused' if refused else 'look at'}  {table} {finding.id}  {finding.name}: "
        text = " ".join(plain(line + " ".join(notes)).split("\n"))
        out.print(text, style="red" if refused else "yellow")

    def counts(self, table: str, progress: pb.Progress) -> None:
        """Print a line."""
        changed = f"{progress.changed} {self._changed}, {progress.unchanged} unchanged"
        out.print(f"{table}: {progress.total} ({changed}, {progress.refused} refused)")


class JsonLines:
    """JSON for programs: one object per line, whose member `kind` is `finding` or `counts`."""

    def __init__(self, *, dry_run: bool) -> None:
        self._dry_run = dry_run

    def finding(self, table: str, finding: pb.Finding) -> None:
        """Print a line."""
        error = from_status(finding.error) if finding.HasField("error") else None
        record = {
            "kind": "finding",
            "table": table,
            "id": finding.id,
            "name": finding.name,
            "notes": list(finding.notes),
            "error": {"reason": error.reason, "message": error.message} if error else None,
        }
        out.print(json.dumps(record))

    def counts(self, table: str, progress: pb.Progress) -> None:
        """Print a line."""
        names = ("total", "changed", "unchanged", "refused")
        counts = {name: getattr(progress, name) for name in names}
        record = {"kind": "counts", "table": table, "dry_run": self._dry_run, **counts}
        out.print(json.dumps(record))
