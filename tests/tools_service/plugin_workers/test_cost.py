"""What a process of its own costs a tool."""

from pathlib import Path

import pytest
from heddle_tools_service.workers.confinement import missing

from benchmarks.sandbox.__main__ import MAX_COST_MS, MAX_PSS_MIB, measure

pytestmark = pytest.mark.skipif(
    bool(missing()), reason=f"this kernel lacks {' and '.join(missing())}"
)


@pytest.mark.exhaustive
@pytest.mark.alone
async def test_a_call_takes_at_most_3_ms_more_and_a_process_80_mib(tmp_path: Path) -> None:
    costs = []
    for attempt in range(5):  # other programs of a busy machine can delay all calls of one
        folder = tmp_path / str(attempt)
        folder.mkdir()
        figures = await measure(folder, 100)
        costs.append(figures.cost_ms)
        assert figures.pss_mib is None or 0 < figures.pss_mib <= MAX_PSS_MIB
        if figures.is_reached:
            break

    assert 0 < min(costs) <= MAX_COST_MS
