"""Durations and times in requests that protobuf does not define."""

import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from heddle.account.v1 import account_pb2
from heddle.tool.v1 import tool_pb2
from heddle.usage.v1 import usage_pb2
from heddle_runtime.contract.validation import REQUIRED, faults

LAST = 253_402_300_799


def impossible_times(message: Message) -> list[str]:
    return [each.field for each in faults(message) if each.description != REQUIRED]


@pytest.mark.parametrize(
    ("lifetime", "possible"),
    [
        (Duration(seconds=315_576_000_000), True),
        (Duration(seconds=-315_576_000_000), True),
        (Duration(seconds=-1, nanos=-1), True),
        (Duration(seconds=315_576_000_001), False),
        (Duration(seconds=2**63 - 1), False),
        (Duration(nanos=1_000_000_000), False),
        (Duration(seconds=1, nanos=-1), False),
    ],
    ids=repr,
)
def test_durations_have_limits(lifetime: Duration, *, possible: bool) -> None:
    wrong = impossible_times(usage_pb2.ReserveUsageRequest(lifetime=lifetime))
    assert wrong == ([] if possible else ["lifetime"])


@pytest.mark.parametrize(
    ("time", "possible"),
    [
        (Timestamp(seconds=LAST, nanos=999_999_999), True),
        (Timestamp(seconds=-62_135_596_800), True),
        (Timestamp(seconds=-1, nanos=1), True),
        (Timestamp(seconds=LAST + 1), False),
        (Timestamp(nanos=-1), False),
    ],
    ids=repr,
)
def test_times_have_limits(time: Timestamp, *, possible: bool) -> None:
    key = account_pb2.Key(expire_time=time)
    wrong = impossible_times(account_pb2.CreateKeyRequest(key=key))
    assert wrong == ([] if possible else ["key.expire_time"])


def test_items_of_lists_are_named() -> None:
    right, wrong = Duration(seconds=1), Duration(seconds=2**62)
    invocations = [tool_pb2.ToolInvocation(timeout=each) for each in (right, wrong)]
    wrong_times = impossible_times(tool_pb2.ExecuteToolsRequest(invocations=invocations))
    assert wrong_times == ["invocations[1].timeout"]
