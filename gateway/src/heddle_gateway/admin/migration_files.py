"""The findings of a job of the migration as files."""

import csv
import io
import json
from collections.abc import Sequence

from heddle.assistant.v1 import jobs_pb2 as pb
from heddle_conversion.import_report import ImportReport, ReportedRow, ReportedTable

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_CSV_MEMBERS = ("table", "row_id", "row_name", "refusal", "notes")
File = tuple[str, str, str]
"""The name, the text and the media type."""


def file_of(job: pb.Job, findings: Sequence[pb.JobFinding], file_format: str) -> File:
    """Return the findings of a job as a file of the format `csv`, `markdown` or `report`."""
    if file_format == "csv":
        return f"findings_{job.id}.csv", _csv(findings), "text/csv"
    report = _report(job, findings)
    if file_format == "markdown":
        return f"report_{job.id}.md", report.markdown(), "text/markdown"
    text = json.dumps(report.json(), ensure_ascii=False)
    return f"report_{job.id}.json", text, "application/json"


def _report(job: pb.Job, findings: Sequence[pb.JobFinding]) -> ImportReport:
    report = ImportReport(job.dry_run)
    for each in job.tables:
        counts = (each.total, each.changed, each.unchanged, each.refused)
        report.tables[each.name] = ReportedTable(each.name, *counts)
    report.rows += (
        ReportedRow(each.table, each.row_id, each.row_name, [*each.notes], each.refusal)
        for each in findings
    )
    return report


def _csv(findings: Sequence[pb.JobFinding]) -> str:
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
