"""Filters of requests: what the contract allows is read, what it forbids is told by its path."""

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_knowledge.engines.conditions import (
    EVERYTHING,
    All,
    Compare,
    Condition,
    Not,
    Some,
    Tag,
)
from heddle_knowledge.service.filtering import filter_condition, search_condition
from heddle_runtime.errors import InvalidRequestError


def comparison(
    *values: str, key: str = "k", operator: pb.Operator.ValueType = pb.OPERATOR_EQUAL
) -> pb.Filter:
    return pb.Filter(comparison=pb.Comparison(key=key, operator=operator, values=values))


def every(*filters: pb.Filter) -> pb.Filter:
    return pb.Filter(all=pb.Filters(filters=filters))


def nested(depth: int) -> pb.Filter:
    found = comparison("v")
    for _ in range(depth - 1):
        found = every(found)
    return found


def read_filter(expression: pb.Filter) -> Condition:
    return filter_condition(pb.SearchCollectionsRequest(filter=expression))


def test_a_filter_is_read_as_it_is_nested() -> None:
    several = comparison("a", "b", operator=pb.OPERATOR_NOT_IN)
    asked = every(comparison("v"), pb.Filter(any=pb.Filters(filters=[several])))
    assert read_filter(asked) == All((Tag("k", ("v",)), Some((Not(Tag("k", ("a", "b"))),))))


@pytest.mark.parametrize(
    "asked",
    [
        nested(8),
        every(*[comparison("v")] * 32),
        every(every(*[comparison("v")] * 31), every(*[comparison("v")] * 30)),
        comparison(*map(str, range(256)), operator=pb.OPERATOR_IN),
        comparison("v" * 2_048, key="k" * 64),
    ],
    ids=["deep", "wide", "many", "of several", "long"],
)
def test_filters_at_the_limits_are_read(asked: pb.Filter) -> None:
    assert read_filter(asked) != EVERYTHING


@pytest.mark.parametrize(
    ("asked", "path"),
    [
        (pb.Filter(), "filter"),
        (nested(9), "filter" + ".all.filters[0]" * 7),
        (every(), "filter.all.filters"),
        (every(*[comparison("v")] * 33), "filter.all.filters"),
        (every(every(*[comparison("v")] * 31), every(*[comparison("v")] * 31)), "filter"),
        (every(comparison("v"), pb.Filter()), "filter.all.filters[1]"),
        (comparison("v", key=""), "filter.comparison.key"),
        (comparison("v", key="k" * 65), "filter.comparison.key"),
        (comparison("v", operator=pb.OPERATOR_UNSPECIFIED), "filter.comparison.operator"),
        (comparison("v", operator=99), "filter.comparison.operator"),  # type: ignore[arg-type]  # a newer client's
        (comparison(), "filter.comparison.values"),
        (comparison("a", "b"), "filter.comparison.values"),
        (comparison(operator=pb.OPERATOR_IN), "filter.comparison.values"),
        (comparison(*["v"] * 257, operator=pb.OPERATOR_IN), "filter.comparison.values"),
        (comparison("v" * 2_049), "filter.comparison.values"),
    ],
    ids=range(15),
)
def test_what_breaks_a_rule_is_named(asked: pb.Filter, path: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        read_filter(asked)
    assert [violation.field for violation in caught.value.violations] == [path]


def test_a_range_of_times_is_read_to_the_microsecond() -> None:
    request = pb.SearchCollectionsRequest(
        document_time_from=Timestamp(seconds=1, nanos=2_000),
        document_time_to=Timestamp(seconds=-1),
    )
    assert search_condition(request) == All(
        (Compare("document_time", ">=", 1_000_002), Compare("document_time", "<", -1_000_000))
    )
    assert search_condition(pb.SearchCollectionsRequest()) == EVERYTHING
