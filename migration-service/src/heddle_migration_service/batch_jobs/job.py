"""A job that goes through assistants in batches, each written in one transaction."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

from heddle.assistant.v1 import rows_pb2 as rows
from heddle.migration.v1 import migration_pb2 as pb
from heddle_conversion.identifiers import row_id
from heddle_runtime.errors import NotFoundError, to_status

from heddle_migration_service.row_batches import RowBatches

_BATCH = 500


@dataclass(slots=True)
class Report:
    """What a job did so far, and its findings since the last report."""

    progress: pb.Progress
    findings: list[pb.Finding] = field(default_factory=list)

    def add(self, response: rows.ConvertRowsResponse) -> None:
        """Count a batch."""
        self.progress.changed += response.changed
        self.progress.unchanged += response.unchanged
        for each in response.findings:
            self.progress.refused += each.HasField("error")
            finding = pb.Finding(id=each.id, name=each.name, notes=each.notes)
            if each.HasField("error"):
                finding.error.CopyFrom(each.error)
            self.findings.append(finding)


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

    async def run_all(self) -> AsyncGenerator[Report]:
        """Go through all assistants in the order of their ids; yield after each batch on disk."""
        response = await self._convert()
        report = Report(pb.Progress(total=response.total_size))
        if not response.ids:
            yield report
        while response.ids:
            report.add(response)
            yield report
            report = Report(report.progress)
            response = await self._convert(after_id=response.ids[-1])

    async def run_some(self, identifiers: Sequence[str]) -> AsyncGenerator[Report]:
        """Go through some assistants in the same way."""
        unique = dict.fromkeys(identifiers)
        report = Report(pb.Progress(total=len(unique)))
        numbers = sorted(number for each in unique if (number := row_id(each)))
        existing: set[str] = set()
        for start in range(0, len(numbers), _BATCH):
            response = await self._convert(ids=numbers[start : start + _BATCH])
            existing |= set(map(str, response.ids))
            report.add(response)
        for each in unique.keys() - existing:
            error = NotFoundError(f"No assistant has the id {each[:200]!r}.")
            report.progress.refused += 1
            report.findings.append(pb.Finding(id=each, error=to_status(error)))
        yield report

    async def _convert(
        self, after_id: int = 0, ids: Sequence[int] = ()
    ) -> rows.ConvertRowsResponse:
        request = rows.ConvertRowsRequest(after_id=after_id, ids=ids)
        request.MergeFrom(self._request)
        return await self._batches.convert(request)
