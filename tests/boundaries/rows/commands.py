"""Limits of the commands of `heddle`."""

from pathlib import Path
from tempfile import NamedTemporaryFile

from boundaries.rows.forms import Check
from heddle.audit.v1 import audit_pb2
from heddle_cli import ingestion
from heddle_cli.commands import audit, migrate


def _document(size: int) -> bool:
    with NamedTemporaryFile() as file:
        file.truncate(size)
        return isinstance(ingestion._content(Path(file.name)), ingestion.Outcome)


def _changes(count: int) -> bool:
    event = audit_pb2.AuditEvent(changes=[audit_pb2.FieldChange(name="a")] * count)
    return "a" not in list(audit._changes(event))[-1:]


ROWS: dict[str, Check] = {
    "heddle_cli.commands.audit._MAX_SHOWN": _changes,
    "heddle_cli.commands.migrate._MAX_IDS": lambda n: migrate._check_number(["1"] * n),
    "heddle_cli.ingestion.MAX_BYTES": _document,
}
