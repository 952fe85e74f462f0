"""What a job counts that goes on after an interruption."""

import pytest
from heddle.assistant.v1 import jobs_pb2 as pb
from heddle.migration.v1.migration_pb2 import Progress
from heddle_migration_service.jobs import merged

BEFORE = pb.JobTable(name="assistants", total=10, changed=6, refused=1)


@pytest.mark.parametrize(
    ("since", "changed", "unchanged"),
    [
        (Progress(total=10, unchanged=2, refused=1), 6, 0),
        (Progress(total=10, changed=3, unchanged=6, refused=1), 9, 0),
        (Progress(total=10, changed=1, unchanged=8, refused=1), 7, 2),
        # One of those that were changed before needs it again: its contents were deleted.
        (Progress(total=10, changed=4, unchanged=5, refused=1), 9, 0),
    ],
    ids=["reading again", "without a repeated batch", "in the middle", "with a row changed again"],
)
def test_a_row_counts_once(since: Progress, changed: int, unchanged: int) -> None:
    table = merged(BEFORE, since)

    assert (table.changed, table.unchanged, table.refused) == (changed, unchanged, 1)
    assert table.changed + table.unchanged + table.refused <= table.total
