"""Converts batches of assistants: to the newest format, or back to their originals.

Nothing is locked while a batch is converted. Rows that change meanwhile are read again.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import structlog
from grpc import StatusCode
from heddle.assistant.v1 import rows_pb2 as pb
from heddle_conversion import convert_row, dump
from heddle_runtime.errors import ConflictError, HeddleError, InvalidRequestError, to_status

from heddle_assistants.database.assistant_row import BatchRow
from heddle_assistants.imports.rows import RowImport
from heddle_assistants.repository.batches import Batches, RowChange
from heddle_assistants.repository.reader import changing

log = structlog.get_logger(__name__)
_MAX_TRIES = 10
_ABOUT_ROWS = (StatusCode.INVALID_ARGUMENT, StatusCode.INTERNAL)
_UNREADABLE = "Heddle cannot use it ({}). The log of the assistants service has the details."


@dataclass(eq=False, slots=True)
class RowConversion:
    """Runs one batch for each call."""

    batches: Batches
    importer: RowImport

    async def run(self, request: pb.ConvertRowsRequest) -> pb.ConvertRowsResponse:
        """Convert a batch, or count what would be done.

        Raises:
            NotSetUpError: Migration is switched off.
            UnavailableError: The database cannot be written to at the moment.
        """
        if not (request.dry_run or request.restore):
            self.batches.require_migration()
        is_first = not (request.after_id or request.ids)
        rows = await self.batches.read(request.after_id, request.ids)
        run = _Run(self.batches, request)
        run.response.ids.extend(row.id for row in rows)
        run.response.total_size = await self.batches.count() if is_first else 0
        for _ in range(_MAX_TRIES):
            changes = await asyncio.to_thread(run.changes, rows)
            if request.dry_run:
                run.count(changes if request.restore else await self._checked(changes))
                return run.response
            pending = await run.write(changes)
            if not pending:
                return run.response
            rows = await self.batches.read(0, pending)
        for row in rows:
            run.refuse(row, changing(str(row.id)))
        return run.response

    async def _checked(self, changes: Sequence[RowChange]) -> list[RowChange]:
        faults = await self.importer.faults([each.row for each in changes])
        return [
            each._replace(notes=[*each.notes, *faults.get(each.row.id, ())]) for each in changes
        ]


class _Run:
    def __init__(self, batches: Batches, request: pb.ConvertRowsRequest) -> None:
        self._batches = batches
        self._request = request
        self.response = pb.ConvertRowsResponse()

    def changes(self, rows: Sequence[BatchRow]) -> list[RowChange]:
        """Return the changes of rows, and count the others. Runs on another thread."""
        changes = []
        for row in rows:
            try:
                change = self._change(row)
            except Exception as error:  # noqa: BLE001 - one row must not stop the others
                self.refuse(row, error)
                continue
            if change is None:
                self.response.unchanged += 1
            else:
                changes.append(change)
        return changes

    def _change(self, row: BatchRow) -> RowChange | None:
        if not self._request.restore:
            return migration(row)
        if row.migrated_to is None:
            return None
        if row.edited and not self._request.discard_edits:
            message = f"The assistant '{row.id}' was edited after its migration."
            raise ConflictError(message, assistant=str(row.id))
        return RowChange(row)

    async def write(self, changes: Sequence[RowChange]) -> list[int]:
        """Write changes and count them; return the ids of rows that changed meanwhile.

        After a failure both halves are written apart, until the rows at fault are alone.
        """
        if not changes:
            return []
        try:
            written = await self._batches.write(changes)
        except Exception as error:
            if isinstance(error, HeddleError) and error.code not in _ABOUT_ROWS:
                raise
            if len(changes) == 1:
                self.refuse(changes[0].row, error)
                return []
            middle = len(changes) // 2
            return [*await self.write(changes[:middle]), *await self.write(changes[middle:])]
        self.count([each for each in changes if each.row.id in written])
        return [each.row.id for each in changes if each.row.id not in written]

    def count(self, changes: Sequence[RowChange]) -> None:
        """Count changed rows, and report their notes."""
        self.response.changed += len(changes)
        for row, _, _, notes in changes:
            if notes:
                self.response.findings.add(id=str(row.id), name=row.name, notes=notes)

    def refuse(self, row: BatchRow, error: Exception) -> None:
        """Report why a row is not changed."""
        if not isinstance(error, HeddleError):
            log.error("row refused", row=row.id, exc_info=error)
            error = InvalidRequestError(_UNREADABLE.format(type(error).__name__))
        self.response.findings.add(id=str(row.id), name=row.name, error=to_status(error))


def migration(row: BatchRow) -> RowChange | None:
    """Return the migration of a row; None if it is of the newest format already."""
    if row.is_current:
        return None
    conversion = convert_row(row.id, row.metadata, row.legacy)
    if not conversion.changed:
        return None
    return RowChange(row, conversion, dump(conversion.metadata), conversion.notes)
