"""The output of batch jobs, as text and as JSON."""

import json
from collections.abc import Sequence
from pathlib import Path

from heddle.migration.v1 import migration_pb2 as pb
from heddle_cli.failures import sentence
from heddle_cli.terminal import out, plain
from heddle_runtime.errors import from_status

from heddle_migration_service.import_report import (
    ImportReport,
    ReportedRow,
    ReportedTable,
    left_note,
)


class Report:
    """Prints the findings and the counts of a batch job."""

    def finding(self, table: str, finding: pb.Finding) -> None:
        """Print a row that was refused or that the operator should check."""

    def counts(self, table: str, progress: pb.Progress) -> None:
        """Print the results of all rows of a table."""

    def left_behind(self, tables: Sequence[pb.LeftBehind]) -> None:
        """Print the tables that stay in LAMB."""

    def end(self) -> None:
        """Write what is not printed already."""


class Sentences(Report):
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

    def left_behind(self, tables: Sequence[pb.LeftBehind]) -> None:
        """Print a line for each table."""
        for each in tables:
            out.print(plain(f"{each.table}: {left_note(each.rows, each.meaning)}"))


class JsonLines(Report):
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

    def left_behind(self, tables: Sequence[pb.LeftBehind]) -> None:
        """Print a line for each table, whose `kind` is `left_behind`."""
        for each in tables:
            record = {"table": each.table, "rows": each.rows, "meaning": each.meaning}
            out.print(json.dumps({"kind": "left_behind", **record}))


class ReportFile(Report):
    """Writes a report of an import to a file, besides what another report prints."""

    def __init__(self, path: Path, printed: Report, *, dry_run: bool) -> None:
        """Set up a report.

        Args:
            path: The file: JSON if it ends in `.json`, else Markdown.
            printed: The report that is printed.
            dry_run: Whether the import only counts.
        """
        self._path = path
        self._printed = printed
        self._report = ImportReport(dry_run)

    def finding(self, table: str, finding: pb.Finding) -> None:
        """Print a row, and add it to the file."""
        self._printed.finding(table, finding)
        refusal = from_status(finding.error).message if finding.HasField("error") else ""
        row = ReportedRow(table, finding.id, finding.name, [*finding.notes], refusal)
        self._report.rows.append(row)

    def counts(self, table: str, progress: pb.Progress) -> None:
        """Print the counts of a table, and add them to the file."""
        self._printed.counts(table, progress)
        counts = (progress.total, progress.changed, progress.unchanged, progress.refused)
        self._report.tables[table] = ReportedTable(table, *counts)

    def left_behind(self, tables: Sequence[pb.LeftBehind]) -> None:
        """Print the tables that stay in LAMB, and add them to the file."""
        self._printed.left_behind(tables)
        self._report.rows += (
            ReportedRow(each.table, "", "", [left_note(each.rows, each.meaning)]) for each in tables
        )

    def end(self) -> None:
        """Write the file."""
        if self._path.suffix.lower() == ".json":
            text = json.dumps(self._report.json(), indent=2, ensure_ascii=False) + "\n"
        else:
            text = self._report.markdown()
        self._path.write_text(text)
