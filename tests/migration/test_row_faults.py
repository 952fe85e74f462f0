"""A row that a step fails for is refused alone."""

from collections.abc import Sequence

import pytest
from assistants.stored import keep
from heddle.assistant.v1 import rows_pb2
from heddle_migration_service.batch_jobs.job import BatchJob, Change
from heddle_migration_service.batch_jobs.migrate import Migrate
from heddle_migration_service.row_batches import RowBatches
from heddle_migration_service.row_faults import isolated
from heddle_runtime.database.engine import Database
from heddle_runtime.errors import HeddleError, InvalidRequestError, UnavailableError
from heddle_runtime.http.egress import Egress
from migration.lamb.running import row_batches


async def test_the_rows_at_fault_are_refused_and_all_others_are_done() -> None:
    steps = 0

    async def step(rows: Sequence[int]) -> Sequence[int]:
        nonlocal steps
        steps += 1
        if 17 in rows:
            raise KeyError("tools")
        if 400 in rows:
            raise InvalidRequestError("It is odd.")
        return [10 * row for row in rows]

    results = await isolated(range(500), step, lambda row, error: f"{row}: {error.message}")

    refusals = [each for each in results if isinstance(each, str)]
    assert [each for each in results if isinstance(each, int)] == [
        10 * row for row in range(500) if row not in (17, 400)
    ]
    assert "17: Heddle cannot use it (KeyError)" in refusals[0]
    assert refusals[1:] == ["400: It is odd."]
    assert steps < 40


@pytest.mark.parametrize(
    "failure", [UnavailableError("Try again."), HeddleError("x", grpc_code="UNKNOWN"), OSError()]
)
async def test_a_failure_that_no_row_causes_is_raised_at_once(failure: Exception) -> None:
    steps = 0

    async def step(_: Sequence[int]) -> Sequence[int]:
        nonlocal steps
        steps += 1
        raise failure

    with pytest.raises(type(failure)):
        await isolated(range(500), step, lambda row, _: row)
    assert steps == 1


class Clumsy(Migrate):
    """Cannot convert the first assistant, and not write the second."""

    def change(self, row: rows_pb2.StoredRow) -> Change | None:
        if row.row.name == "first":
            raise KeyError("tools")
        return super().change(row)

    async def write(self, batches: RowBatches, changes: Sequence[Change]) -> Sequence[int]:
        if any(each.name == "second" for each in changes):
            raise InvalidRequestError("It cannot be stored.")
        return await super().write(batches, changes)


async def test_a_migration_names_the_assistants_that_it_cannot_do(database: Database) -> None:
    numbers = [await keep(database, name=name) for name in ("first", "second", "third")]
    batches = await row_batches(database, Egress([]))

    reports = [each async for each in BatchJob(batches, Clumsy(), dry_run=False).run_all()]

    progress = reports[-1].progress
    assert (progress.changed, progress.unchanged, progress.refused) == (1, 0, 2)
    errors = {each.id: each.error.message for report in reports for each in report.findings}
    assert "(KeyError)" in errors[str(numbers[0])]
    assert errors[str(numbers[1])] == "It cannot be stored."
