"""Counting in memory, and the batches that leave it."""

import time
from itertools import count

import pytest
from heddle.assistant.v1.assistant_pb2 import GetAssistantResponse, Price, Quota
from heddle_orchestrator.assistants import Budget, budget
from heddle_orchestrator.metering.meter import MAX_BATCH, MAX_KEYS, Meter
from heddle_orchestrator.metering.usage_counter import Tokens
from heddle_runtime.errors import QuotaExceededError
from structlog.testing import capture_logs

KEY = "1", "openai", "m"


def test_a_batch_stays_as_it_is_until_it_is_recorded() -> None:
    meter = Meter()
    meter.add(KEY, Tokens(10, 4, 2))
    meter.add(KEY, None)
    first = list(meter.batch())
    meter.add(KEY, Tokens(1, 0, 1))

    assert list(meter.batch()) == first
    [entry] = first
    counts = entry.counts
    assert (counts.requests, counts.usage_unknown) == (2, 1)
    assert (counts.prompt_tokens, counts.cached_tokens, counts.completion_tokens) == (10, 4, 2)
    meter.recorded()
    [entry] = meter.batch()
    assert (entry.number, entry.counts.prompt_tokens) == (2, 1)
    meter.recorded()
    assert not meter.batch()


def test_numbers_of_all_batches_rise() -> None:
    meter = Meter()
    for number in range(MAX_BATCH + 1):
        meter.add((str(number), "openai", "m"), None)
    numbers: list[int] = []
    sizes: list[int] = []
    while batch := meter.batch():
        numbers += [entry.number for entry in batch]
        sizes.append(len(batch))
        meter.recorded()
    assert numbers == list(range(1, MAX_BATCH + 2))
    assert sizes == [MAX_BATCH, 1]


def test_no_two_meters_have_one_name() -> None:
    assert Meter().recorder != Meter().recorder


def test_memory_is_bounded_and_a_loss_is_told() -> None:
    meter = Meter()
    with capture_logs() as logs:
        for number in range(MAX_KEYS + 5):
            meter.add((str(number), "openai", "m"), Tokens(1, 0, 0))
        meter.add(("0", "openai", "m"), Tokens(1, 0, 0))  # which is counted already
    assert [each["answers"] for each in logs] == [1, 2, 4]
    entries = 0
    while batch := meter.batch():
        entries += len(batch)
        meter.recorded()
    assert entries == MAX_KEYS


def test_counters_of_those_who_are_recorded_make_room() -> None:
    meter = Meter()
    numbers = count()
    for _ in range(3):
        for _ in range(MAX_KEYS):
            meter.add((str(next(numbers)), "openai", "m"), Tokens(1, 0, 0))
        while meter.batch():
            meter.recorded()
    assert len(meter._counters) <= MAX_KEYS  # noqa: SLF001 - what is bounded is no part of the interface


def quota(limit: int, spent: int = 0) -> Quota:
    price = Price(input_micros=2_000_000, cached_input_micros=1_000_000, output_micros=3_000_000)
    return Quota(limit_micros=limit, spent_micros=spent, price=price)


@pytest.mark.parametrize(
    ("limit", "spent", "tokens", "refused"),
    [
        (1, 0, Tokens(), False),
        (0, 0, Tokens(), True),
        (5, 5, Tokens(), True),
        (5, 7, Tokens(), True),
        (22, 0, Tokens(10, 3, 1), False),  # 7 x 2 + 3 x 1 + 3 = 20
        (20, 0, Tokens(10, 3, 1), True),
        (21, 1, Tokens(10, 3, 1), True),
    ],
)
def test_what_is_counted_here_is_held_against_the_limit(
    limit: int, spent: int, tokens: Tokens, *, refused: bool
) -> None:
    meter = Meter()
    left = Budget("1", quota(limit, spent), meter, time.monotonic())
    meter.add(KEY, tokens)
    if not refused:
        left.check()
        return
    with pytest.raises(QuotaExceededError, match="spent what its quota allows"):
        left.check()


def test_what_is_recorded_counts_once() -> None:
    """Whatever is recorded between two readings of the quota is in the second one."""
    meter = Meter()
    meter.add(KEY, Tokens(5, 0, 0))  # 10 millionths
    started = time.monotonic()
    meter.batch()
    meter.recorded()
    # The service may or may not have known of it when it was asked.
    with pytest.raises(QuotaExceededError):
        Budget("1", quota(10), meter, started).check()
    later = time.monotonic() + 1
    Budget("1", quota(20, spent=10), meter, later).check()
    meter.add(KEY, Tokens(5, 0, 0))
    with pytest.raises(QuotaExceededError):
        Budget("1", quota(20, spent=10), meter, later).check()


def test_a_limit_that_cannot_be_read_is_told_as_it_is() -> None:
    left = Budget("1", Quota(problem="Mend it."), Meter(), 0)
    with pytest.raises(QuotaExceededError, match=r"^Mend it\.$"):
        left.check()


def test_without_a_quota_there_is_nothing_to_check() -> None:
    assert budget(GetAssistantResponse(), Meter(), 0) is None
