"""The findings of a job of the migration as a report, and as a table."""

import csv
import io
from collections.abc import Sequence

from heddle.assistant.v1 import jobs_pb2 as pb
from heddle_gateway.http.models import Model
from pydantic import Field

from heddle_migration_service.import_report import ImportReport, ReportedRow, ReportedTable


class ReportTable(Model):
    """What became of the rows of a table."""

    table: str
    total: int
    imported: int
    unchanged: int
    refused: int


class ReportRow(Model):
    """A row with something to look at."""

    table: str
    id: str
    name: str
    notes: list[str]
    refusal: str | None = Field(default=None, description="Why the row is not imported.")


class LeftTable(Model):
    """A table that stays in LAMB."""

    table: str
    rows: int
    meaning: str = Field(description="What it contains.")


class JobReport(Model):
    """The report of a job."""

    dry_run: bool
    tables: list[ReportTable]
    will_not_answer: list[ReportRow] = Field(description="Assistants that will not answer.")
    may_lack_a_part: list[ReportRow] = Field(
        description="Assistants that may answer without a tool or its data."
    )
    refused: list[ReportRow] = Field(description="Rows that are not imported.")
    to_look_at: list[ReportRow] = Field(description="Other rows with notes.")
    left_in_lamb: list[LeftTable] = Field(description="Tables that no import takes over.")


_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_CSV_MEMBERS = ("table", "row_id", "row_name", "refusal", "notes")


def report_of(job: pb.Job, findings: Sequence[pb.JobFinding]) -> ImportReport:
    """Return the report of a job with all its findings."""
    report = ImportReport(job.dry_run)
    for each in job.tables:
        counts = (each.total, each.changed, each.unchanged, each.refused)
        report.tables[each.name] = ReportedTable(each.name, *counts)
    report.rows += (
        ReportedRow(each.table, each.row_id, each.row_name, [*each.notes], each.refusal)
        for each in findings
    )
    return report


def csv_of(findings: Sequence[pb.JobFinding]) -> str:
    """Return a table with a line for each finding."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(_CSV_MEMBERS)
    for each in findings:
        notes = "\n".join(each.notes)
        cells = (each.table, each.row_id, each.row_name, each.refusal, notes)
        writer.writerow([_cell(cell) for cell in cells])
    return file.getvalue()


def _cell(text: str) -> str:
    """Return a cell that spreadsheets do not take for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text
