"""Restoring what assistants were before their migration."""

from collections.abc import Sequence
from typing import cast

from heddle.assistant.v1 import rows_pb2 as rows
from heddle_runtime.errors import ConflictError

from heddle_migration_service.batch_jobs.job import Change
from heddle_migration_service.row_batches import RowBatches


class Rollback:
    """Restores the originals, byte for byte."""

    view = rows.ROW_VIEW_ORIGINAL

    def __init__(self, *, discard_edits: bool) -> None:
        self._discard_edits = discard_edits

    def change(self, row: rows.StoredRow) -> Change | None:
        """Return the restoration of a row, None if it was not migrated.

        Raises:
            ConflictError: It was edited since, and edits are not to be discarded.
        """
        if not row.HasField("original"):
            return None
        if row.original.edited and not self._discard_edits:
            message = f"The assistant '{row.id}' was edited after its migration."
            raise ConflictError(message, assistant=str(row.id))
        return Change(row.id, row.row.name, rows.Restoration(id=row.id, version=row.version))

    async def write(self, batches: RowBatches, changes: Sequence[Change]) -> Sequence[int]:
        """Restore the originals."""
        return await batches.restore([cast("rows.Restoration", each.message) for each in changes])
