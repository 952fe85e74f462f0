"""Limits of the commands of `heddle`, and of backups."""

from io import BytesIO
from pathlib import Path
from tempfile import NamedTemporaryFile

from boundaries.rows.forms import Check
from heddle.audit.v1 import audit_pb2
from heddle_cli import ingestion
from heddle_cli.commands import audit
from heddle_devstack.backup import archive
from heddle_migration_service.commands import migrate


def _document(size: int) -> bool:
    with NamedTemporaryFile() as file:
        file.truncate(size)
        return isinstance(ingestion._content(Path(file.name)), ingestion.Outcome)


def _changes(count: int) -> bool:
    event = audit_pb2.AuditEvent(changes=[audit_pb2.FieldChange(name="a")] * count)
    return "a" not in list(audit._changes(event))[-1:]


def _ratio(ratio: int) -> None:
    packed = archive._Packed(BytesIO(b"x"))
    packed.read(1)
    packed._unpacked = archive._UNLIMITED_BYTES + ratio - 1
    assert [*packed.limited(BytesIO(b"y"))]


ROWS: dict[str, Check] = {
    "heddle_devstack.backup.archive._MAX_RATIO": _ratio,
    "heddle_cli.commands.audit._MAX_SHOWN": _changes,
    "heddle_migration_service.commands.migrate._MAX_IDS": lambda n: migrate._check_number(
        ["1"] * n
    ),
    "heddle_cli.ingestion.MAX_BYTES": _document,
}
