"""A job that goes through assistants in batches, each written in one transaction."""

from collections.abc import AsyncGenerator, Sequence

from heddle.assistant.v1 import rows_pb2 as rows
from heddle.migration.v1 import migration_pb2 as pb
from heddle_conversion.identifiers import row_id
from heddle_runtime.errors import NotFoundError, to_status

from heddle_migration_service.row_batches import RowBatches

_BATCH = 500
_TABLE = "assistants"


class BatchJob:
    """One run through assistants, which migrates or restores them."""

    def __init__(
        self,
        batches: RowBatches,
        *,
        dry_run: bool,
        restore: bool = False,
        discard_edits: bool = False,
    ) -> None:
        self._batches = batches
        self._request = rows.ConvertRowsRequest(
            dry_run=dry_run, restore=restore, discard_edits=discard_edits
        )

    async def run_all(self) -> AsyncGenerator[pb.RunMigrationResponse]:
        """Go through all assistants in the order of their ids; yield after each batch on disk."""
        batch = await self._convert()
        progress = pb.Progress(total=batch.total_size)
        if not batch.ids:
            yield pb.RunMigrationResponse(table=_TABLE, progress=progress)
        while batch.ids:
            findings = _counted(progress, batch)
            yield pb.RunMigrationResponse(table=_TABLE, progress=progress, findings=findings)
            batch = await self._convert(after_id=batch.ids[-1])

    async def run_some(self, identifiers: Sequence[str]) -> AsyncGenerator[pb.RunMigrationResponse]:
        """Go through some assistants in the same way."""
        unique = dict.fromkeys(identifiers)
        response = pb.RunMigrationResponse(table=_TABLE, progress=pb.Progress(total=len(unique)))
        numbers = sorted(number for each in unique if (number := row_id(each)))
        existing: set[str] = set()
        for start in range(0, len(numbers), _BATCH):
            batch = await self._convert(ids=numbers[start : start + _BATCH])
            existing |= set(map(str, batch.ids))
            response.findings.extend(_counted(response.progress, batch))
        for each in unique.keys() - existing:
            error = NotFoundError(f"No assistant has the id {each[:200]!r}.")
            response.progress.refused += 1
            response.findings.add(id=each, error=to_status(error))
        yield response

    async def _convert(
        self, after_id: int = 0, ids: Sequence[int] = ()
    ) -> rows.ConvertRowsResponse:
        request = rows.ConvertRowsRequest(after_id=after_id, ids=ids)
        request.MergeFrom(self._request)
        return await self._batches.convert(request)


def _counted(progress: pb.Progress, batch: rows.ConvertRowsResponse) -> list[pb.Finding]:
    """Add a batch to a progress, and return its findings."""
    progress.changed += batch.changed
    progress.unchanged += batch.unchanged
    progress.refused += sum(each.HasField("error") for each in batch.findings)
    return [
        pb.Finding(
            id=each.id,
            name=each.name,
            notes=each.notes,
            error=each.error if each.HasField("error") else None,
        )
        for each in batch.findings
    ]
