"""OpenAI's filters as those of the knowledge service."""

from typing import Any

import pytest
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_gateway.http.models import Model, validate
from heddle_gateway.openai.vector_store_search import AttributeFilter, to_filter
from heddle_runtime.errors import InvalidRequestError


class Body(Model):
    """A body with a filter."""

    filters: AttributeFilter


def condition(value: object) -> pb.Filter:
    """Return the filter of a body as the contract has it."""
    return to_filter(validate(Body, {"filters": value}).filters)


def compared(operator: str, *values: str) -> pb.Filter:
    comparison = pb.Comparison(key="a", values=values)
    comparison.operator = pb.Operator.Value(f"OPERATOR_{operator}")
    return pb.Filter(comparison=comparison)


@pytest.mark.parametrize(
    ("kind", "operator"),
    [
        ("eq", "EQUAL"),
        ("ne", "NOT_EQUAL"),
        ("gt", "GREATER"),
        ("gte", "GREATER_OR_EQUAL"),
        ("lt", "LESS"),
        ("lte", "LESS_OR_EQUAL"),
    ],
)
def test_a_comparison_keeps_its_operator(kind: str, operator: str) -> None:
    assert condition({"type": kind, "key": "a", "value": "x"}) == compared(operator, "x")


@pytest.mark.parametrize(
    ("value", "text"),
    [("", ""), (True, "true"), (False, "false"), (7, "7"), (7.0, "7"), (0.5, "0.5"), (-1, "-1")],
)
def test_a_value_is_written_as_the_metadata_of_documents_have_it(value: object, text: str) -> None:
    assert condition({"type": "eq", "key": "a", "value": value}) == compared("EQUAL", text)


def test_conditions_are_joined_and_nested() -> None:
    several: dict[str, Any] = {"type": "in", "key": "a", "value": ["x", 1]}
    none = {"type": "nin", "key": "a", "value": [True]}
    either = {"type": "or", "filters": [several, none]}
    found = condition({"type": "and", "filters": [either, several]})
    first, second = compared("IN", "x", "1"), compared("NOT_IN", "true")
    any_of = pb.Filter(any=pb.Filters(filters=[first, second]))
    assert found == pb.Filter(all=pb.Filters(filters=[any_of, first]))


def nested(depth: int, width: int = 1) -> dict[str, Any]:
    if depth == 1:
        return {"type": "eq", "key": "a", "value": "x"}
    return {"type": "and", "filters": [nested(depth - 1)] * width}


def test_conditions_nest_eight_deep() -> None:
    condition(nested(8))
    with pytest.raises(InvalidRequestError, match="deep"):
        condition(nested(9))


def test_up_to_thirty_two_conditions_are_joined() -> None:
    assert len(condition(nested(2, 32)).all.filters) == 32
    with pytest.raises(InvalidRequestError) as caught:
        condition(nested(2, 33))
    assert [violation.field for violation in caught.value.violations] == ["filters.filters"]


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("a = 1", ""),
        ({"type": "eq", "value": "x"}, "key"),
        ({"type": "eq", "key": "a"}, "value"),
        ({"type": "eq", "key": "a", "value": ["x"]}, "value"),
        ({"type": "in", "key": "a", "value": "x"}, "value"),
        ({"type": "in", "key": "a", "value": []}, "value"),
        ({"type": "in", "key": "a", "value": ["x", None]}, "value[1]"),
        ({"type": "and", "filters": []}, "filters"),
        ({"type": "and", "filters": [{"type": "not"}]}, "filters[0].type"),
    ],
)
def test_what_is_no_filter_is_refused_with_its_place(value: object, path: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        condition(value)
    assert caught.value.violations[0].field == f"filters.{path}".removesuffix(".")
