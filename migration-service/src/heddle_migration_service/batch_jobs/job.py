"""A job that goes through assistants in batches, each written in one transaction."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from google.protobuf.message import Message
from heddle.assistant.v1 import rows_pb2 as rows
from heddle.migration.v1 import migration_pb2 as pb
from heddle_conversion.identifiers import row_id
from heddle_runtime.errors import HeddleError, NotFoundError, UnavailableError, to_status

from heddle_migration_service.row_batches import RowBatches
from heddle_migration_service.row_faults import isolated, row_error

_BATCH = 500
_MAX_TRIES = 10


@dataclass(frozen=True, slots=True)
class Change:
    """What shall become of one assistant."""

    id: int
    name: str
    message: Message
    """What is sent to have it written."""
    notes: Sequence[str] = ()
    """What a person should look at."""


class Operation(Protocol):
    """What a job does with each assistant."""

    view: "rows.RowView.ValueType"
    """The columns that it reads."""

    def change(self, row: rows.StoredRow) -> Change | None:
        """Return the change of an assistant, None if it stays as it is. Runs on another thread.

        Raises:
            HeddleError: It cannot be changed.
        """

    async def write(self, batches: RowBatches, changes: Sequence[Change]) -> Sequence[int]:
        """Write changes; return the ids of the rows that had not changed since they were read."""


@dataclass(slots=True)
class Report:
    """What a job did so far, and its findings since the last report."""

    progress: pb.Progress
    findings: list[pb.Finding] = field(default_factory=list)

    def refuse(self, identifier: str, name: str, error: HeddleError) -> None:
        """Count an assistant that cannot be changed."""
        self.progress.refused += 1
        self.findings.append(pb.Finding(id=identifier, name=name, error=to_status(error)))


class BatchJob:
    """One run of an operation."""

    def __init__(self, batches: RowBatches, operation: Operation, *, dry_run: bool) -> None:
        self._batches = batches
        self._operation = operation
        self._dry_run = dry_run

    async def run_all(self) -> AsyncGenerator[Report]:
        """Go through all assistants in the order of their ids; yield after each batch on disk."""
        response = await self._read(after_id=0)
        report = Report(pb.Progress(total=response.total_size))
        if not response.rows:
            yield report
        while response.rows:
            last = response.rows[-1].id
            # The next batch is read while this one is converted and written.
            following = asyncio.create_task(self._read(after_id=last))
            try:
                await self._process(response.rows, report)
                yield report
                report = Report(report.progress)
                response = await following
            finally:
                following.cancel()

    async def run_some(self, identifiers: Sequence[str]) -> AsyncGenerator[Report]:
        """Go through some assistants in the same way."""
        unique = dict.fromkeys(identifiers)
        report = Report(pb.Progress(total=len(unique)))
        numbers = sorted(number for each in unique if (number := row_id(each)))
        existing: set[str] = set()
        for start in range(0, len(numbers), _BATCH):
            batch = (await self._read(ids=numbers[start : start + _BATCH])).rows
            existing |= {str(row.id) for row in batch}
            await self._process(batch, report)
        for each in unique.keys() - existing:
            report.refuse(each, "", NotFoundError(f"No assistant has the id {each[:200]!r}."))
        yield report

    async def _read(self, after_id: int = 0, ids: Sequence[int] = ()) -> rows.ReadRowsResponse:
        view = self._operation.view
        converts = view == rows.ROW_VIEW_CONVERSION
        request = rows.ReadRowsRequest(
            after_id=after_id,
            ids=ids,
            view=view,
            to_replace=converts and not self._dry_run,
            with_faults=converts and self._dry_run,
        )
        return await self._batches.read(request)

    async def _process(self, batch: Sequence[rows.StoredRow], report: Report) -> None:
        """Change a batch, including rows that others change at the same time."""
        for _ in range(_MAX_TRIES):
            changes = await asyncio.to_thread(self._changes, batch, report)
            pending = await self._write(changes, report)
            if not pending:
                return
            batch = (await self._read(ids=pending)).rows
        for row in batch:
            message = f"The assistant '{row.id}' changes all the time. Try again."
            error = UnavailableError(message, retry_after=1.0, assistant=str(row.id))
            report.refuse(str(row.id), row.row.name, error)

    def _changes(self, batch: Sequence[rows.StoredRow], report: Report) -> list[Change]:
        changes: list[Change] = []
        for row in batch:
            try:
                change = self._operation.change(row)
            except Exception as error:  # noqa: BLE001 - one row must not stop the others
                report.refuse(str(row.id), row.row.name, row_error(error))
                continue
            if change is None:
                report.progress.unchanged += 1
            else:
                changes.append(change)
        return changes

    async def _write(self, changes: Sequence[Change], report: Report) -> list[int]:
        """Write changes and count them; return the ids of rows that changed meanwhile."""

        async def write(changes: Sequence[Change]) -> Sequence[HeddleError | bool]:
            written = set(await self._operation.write(self._batches, changes))
            return [change.id in written for change in changes]

        if self._dry_run or not changes:
            _count(changes, report)
            return []
        outcomes = await isolated(changes, write, lambda _, error: error)
        pairs = list(zip(changes, outcomes, strict=True))
        for change, outcome in pairs:
            if isinstance(outcome, HeddleError):
                report.refuse(str(change.id), change.name, outcome)
        _count([change for change, outcome in pairs if outcome is True], report)
        return [change.id for change, outcome in pairs if outcome is False]


def _count(changes: Sequence[Change], report: Report) -> None:
    report.progress.changed += len(changes)
    report.findings += [
        pb.Finding(id=str(change.id), name=change.name, notes=change.notes)
        for change in changes
        if change.notes
    ]
