"""What the member `quota` of an assistant's metadata means."""

from typing import Any

import pytest
from conversion.documents import JSON
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_assistants.repository.quotas import LARGEST, quota_of
from hypothesis import given


@pytest.mark.parametrize(
    "quota",
    [
        None,
        [],
        "5",
        {},
        {"cost_limit_usd": 5.0},
        {"enabled": False, "cost_limit_usd": 5.0},
        {"enabled": None, "cost_limit_usd": 5.0},
        {"enabled": True},
        {"enabled": True, "cost_limit_usd": None},
    ],
    ids=repr,
)
def test_without_a_limit_that_is_on_there_is_no_quota(quota: Any) -> None:
    assert quota_of({"quota": quota}) is None
    assert quota_of({}) is None


@pytest.mark.parametrize(
    ("amount", "limit"),
    [
        (5.0, 5_000_000),
        (5, 5_000_000),
        ("5.0", 5_000_000),
        (" 0.000003 ", 3),
        (0.1 + 0.2, 300_000),
        (0, 0),
        (-0.0, 0),
        (-5, 0),
        ("-1e999999", 0),
        (1e-9, 0),
        (10**400, LARGEST),
        (1e300, LARGEST),
        ("1e999999", LARGEST),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_a_limit_is_read_to_the_millionth_within_what_can_be_spent(amount: Any, limit: int) -> None:
    quota = {"enabled": True, "cost_limit_usd": amount, "period": "month"}
    assert quota_of({"quota": quota}) == pb.Quota(limit_micros=limit)


@pytest.mark.parametrize(
    "amount", ["", "five", "5 USD", "nan", "inf", True, [5], {"usd": 5}], ids=repr
)
def test_a_limit_that_cannot_be_read_lets_nothing_be_spent(amount: Any) -> None:
    quota = quota_of({"quota": {"enabled": True, "cost_limit_usd": amount}})
    assert quota is not None
    assert quota.limit_micros == 0
    assert "cost_limit_usd" in quota.problem


@given(JSON, JSON)
def test_any_quota_can_be_read(enabled: Any, amount: Any) -> None:
    quota = quota_of({"quota": {"enabled": enabled, "cost_limit_usd": amount}})
    assert quota is None or 0 <= quota.limit_micros <= LARGEST
