"""What services need when they have nothing to do."""

import pytest
from heddle_knowledge.workers.worker import IDLE_SECONDS
from runtime.examples import NIGHTLY

from benchmarks.idle.__main__ import measure

pytestmark = [*NIGHTLY, pytest.mark.alone, pytest.mark.timeout(1800)]
# `make idle` waits ten minutes. What ends when it is idle has ended by then, and nothing else does.
MINUTES = IDLE_SECONDS / 60 + 0.5


def test_services_are_ready_soon_need_little_and_give_back_what_work_needs() -> None:
    report = measure(chats=1_000, documents=1_000, minutes=[MINUTES])
    assert not report.exceeded(), report.table()
