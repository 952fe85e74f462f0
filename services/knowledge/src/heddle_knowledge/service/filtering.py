"""Filters as the contract has them, checked and turned into those of the engine."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Literal

from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_runtime.errors import InvalidRequestError, Violation

from heddle_knowledge.engines.conditions import Condition
from heddle_knowledge.records import AllOf, AnyOf, Comparison, Filter, Operator
from heddle_knowledge.searching.filters import matching
from heddle_knowledge.service.requests import Search

_Time = Literal["document_time_from", "document_time_to"]
_OPERATORS: dict[int, Operator] = {
    pb.OPERATOR_EQUAL: "equal",
    pb.OPERATOR_NOT_EQUAL: "not_equal",
    pb.OPERATOR_LESS: "less",
    pb.OPERATOR_LESS_OR_EQUAL: "less_or_equal",
    pb.OPERATOR_GREATER: "greater",
    pb.OPERATOR_GREATER_OR_EQUAL: "greater_or_equal",
    pb.OPERATOR_IN: "in",
    pb.OPERATOR_NOT_IN: "not_in",
}
_OF_SEVERAL = frozenset({pb.OPERATOR_IN, pb.OPERATOR_NOT_IN})
_MOST_FILTERS = 32
_DEEPEST = 8
_MOST_IN_ALL = 64
_MOST_VALUES = 256
_LONGEST_KEY = 64
_LONGEST_VALUE = 2_048
_TIMES: tuple[_Time, _Time] = ("document_time_from", "document_time_to")
_MESSAGE = "The filter cannot be applied."


def search_condition(request: Search) -> Condition:
    """Return which passages a search may find: those of its filter and its range of times.

    Raises:
        InvalidRequestError: The filter or a time breaks a rule of the contract.
    """
    expression = read_filter(request.filter) if request.HasField("filter") else None
    return matching(expression, *(_time(request, name) for name in _TIMES))


def page_condition(request: pb.SearchPagesRequest) -> Condition:
    """Return of which documents a search may find pages: those of its filter.

    Raises:
        InvalidRequestError: The filter breaks a rule of the contract.
    """
    return matching(read_filter(request.filter) if request.HasField("filter") else None)


def _time(request: Search, name: _Time) -> datetime | None:
    if not request.HasField(name):
        return None
    try:
        time: datetime = getattr(request, name).ToDatetime(UTC)
    except (ValueError, OverflowError):
        violation = Violation(name, "must be a time from the year 1 to the year 9999")
        raise InvalidRequestError(_MESSAGE, [violation]) from None
    return time


def read_filter(expression: pb.Filter, path: str = "filter") -> Filter:
    """Return a filter of a request as the engine takes it.

    Args:
        expression: The filter; one condition at least.
        path: Where it stands in the request, for messages.

    Raises:
        InvalidRequestError: It breaks a rule of the contract.
    """
    violations = list(_violations(expression, path, 1))
    if not violations and (count := _count(expression)) > _MOST_IN_ALL:
        violations = [Violation(path, f"must have at most {_MOST_IN_ALL} filters, not {count}")]
    if violations:
        raise InvalidRequestError(_MESSAGE, violations)
    return _filter(expression)


def _violations(expression: pb.Filter, path: str, depth: int) -> Iterator[Violation]:
    kind = expression.WhichOneof("condition")
    if kind is None:
        yield Violation(path, "must have one of 'comparison', 'all' and 'any'")
    elif kind == "comparison":
        yield from _comparison_violations(expression.comparison, f"{path}.comparison")
    elif depth == _DEEPEST:
        yield Violation(path, f"must nest at most {_DEEPEST} deep")
    else:
        within = getattr(expression, kind).filters
        if not 1 <= len(within) <= _MOST_FILTERS:
            yield Violation(f"{path}.{kind}.filters", f"must be 1 to {_MOST_FILTERS}")
        for at, each in enumerate(within[:_MOST_FILTERS]):
            yield from _violations(each, f"{path}.{kind}.filters[{at}]", depth + 1)


def _comparison_violations(expression: pb.Comparison, path: str) -> Iterator[Violation]:
    if not 1 <= len(expression.key) <= _LONGEST_KEY:
        yield Violation(f"{path}.key", f"must have 1 to {_LONGEST_KEY} characters")
    if expression.operator not in _OPERATORS:
        yield Violation(f"{path}.operator", "must be an operator of this contract")
    most = _MOST_VALUES if expression.operator in _OF_SEVERAL else 1
    if not 1 <= len(expression.values) <= most:
        rule = f"must be 1 to {most}" if most > 1 else "must be exactly one"
        yield Violation(f"{path}.values", rule)
    longest = max(map(len, expression.values), default=0)
    if longest > _LONGEST_VALUE:
        yield Violation(f"{path}.values", f"must have at most {_LONGEST_VALUE} characters")


def _count(expression: pb.Filter) -> int:
    kind = expression.WhichOneof("condition")
    within = getattr(expression, kind).filters if kind in {"all", "any"} else ()
    return 1 + sum(map(_count, within))


def _filter(expression: pb.Filter) -> Filter:
    kind = expression.WhichOneof("condition")
    if kind == "comparison":
        one = expression.comparison
        return Comparison(one.key, _OPERATORS[one.operator], tuple(one.values))
    within = tuple(map(_filter, getattr(expression, str(kind)).filters))
    return AllOf(within) if kind == "all" else AnyOf(within)
