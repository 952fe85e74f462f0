"""A row that a step fails for is refused alone."""

from collections.abc import Sequence

import pytest
from assistants.stored import keep
from heddle_assistants.database.assistant_row import BatchRow
from heddle_assistants.repository.batches import Batches, RowChange
from heddle_assistants.rows import conversion
from heddle_assistants.rows.conversion import migration
from heddle_migration_service.batch_jobs.job import BatchJob
from heddle_migration_service.row_faults import isolated
from heddle_runtime.errors import HeddleError, InvalidRequestError, UnavailableError
from heddle_runtime.http.egress import Egress
from heddle_runtime.storage.database.engine import Database
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


async def test_a_migration_names_the_assistants_that_it_cannot_do(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = [await keep(database, name=name) for name in ("first", "second", "third")]
    write = Batches.write

    def clumsy(row: BatchRow) -> RowChange | None:
        if row.name == "first":
            raise KeyError("tools")
        return migration(row)

    async def picky(batches: Batches, changes: Sequence[RowChange]) -> set[int]:
        if any(each.row.name == "second" for each in changes):
            raise InvalidRequestError("It cannot be stored.")
        return await write(batches, changes)

    monkeypatch.setattr(conversion, "migration", clumsy)
    monkeypatch.setattr(Batches, "write", picky)
    batches = await row_batches(database, Egress([]))

    reports = [each async for each in BatchJob(batches, dry_run=False).run_all()]

    progress = reports[-1].progress
    assert (progress.changed, progress.unchanged, progress.refused) == (1, 0, 2)
    errors = {each.id: each.error.message for report in reports for each in report.findings}
    assert "(KeyError)" in errors[str(numbers[0])]
    assert errors[str(numbers[1])] == "It cannot be stored."
