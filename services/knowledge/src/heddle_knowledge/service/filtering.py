"""Filters of requests, checked and converted into conditions of the engine."""

from collections.abc import Iterator
from types import MappingProxyType

from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_runtime.errors import Violation

from heddle_knowledge.engines.conditions import (
    EVERYTHING,
    LABELS,
    All,
    Compare,
    Condition,
    How,
    In,
    Not,
    Ordered,
    Some,
    Tag,
    both,
)
from heddle_knowledge.service.calls import MAX_KEY_CHARACTERS, refuse

_COLUMNS = frozenset({"document", "document_id", "title", "media_type", "uri"})
"""Keys that name an attribute of the document itself, not of its metadata."""
_TIME = "document_time"
_ORDERS = MappingProxyType[int, How](
    {
        pb.OPERATOR_LESS: "<",
        pb.OPERATOR_LESS_OR_EQUAL: "<=",
        pb.OPERATOR_GREATER: ">",
        pb.OPERATOR_GREATER_OR_EQUAL: ">=",
    }
)
_NEGATIVE = frozenset({pb.OPERATOR_NOT_EQUAL, pb.OPERATOR_NOT_IN})
_SEVERAL_VALUES = frozenset({pb.OPERATOR_IN, pb.OPERATOR_NOT_IN})
_MAX_CHILDREN = 32
_MAX_DEPTH = 8
_MAX_FILTERS = 64
_MAX_VALUES = 256
_MAX_VALUE_CHARACTERS = 2_048
_MESSAGE = "The filter cannot be applied."


def search_condition(request: pb.SearchCollectionsRequest) -> Condition:
    """Return the condition of passages that match the filter and the range of times.

    Raises:
        InvalidRequestError: The filter breaks a rule of the contract.
    """
    condition = filter_condition(request)
    if request.HasField("document_time_from"):
        first = request.document_time_from.ToMicroseconds()
        condition = both(condition, Compare(_TIME, ">=", first))
    if request.HasField("document_time_to"):
        end = request.document_time_to.ToMicroseconds()
        condition = both(condition, Compare(_TIME, "<", end))
    return condition


def filter_condition(request: pb.SearchCollectionsRequest) -> Condition:
    """Return of which documents a search may return passages: those of its filter.

    Raises:
        InvalidRequestError: The filter breaks a rule of the contract.
    """
    if not request.HasField("filter"):
        return EVERYTHING
    violations = list(_violations(request.filter, "filter", 1))
    if not violations and (count := _count(request.filter)) > _MAX_FILTERS:
        violations = [Violation("filter", f"must have at most {_MAX_FILTERS} filters, not {count}")]
    refuse(violations, _MESSAGE)
    return _condition(request.filter)


def _violations(expression: pb.Filter, path: str, depth: int) -> Iterator[Violation]:
    kind = expression.WhichOneof("condition")
    if kind is None:
        yield Violation(path, "must have one of 'comparison', 'all' and 'any'")
    elif kind == "comparison":
        yield from _comparison_violations(expression.comparison, f"{path}.comparison")
    elif depth == _MAX_DEPTH:
        yield Violation(path, f"must nest at most {_MAX_DEPTH} deep")
    else:
        children = getattr(expression, kind).filters
        if not 1 <= len(children) <= _MAX_CHILDREN:
            yield Violation(f"{path}.{kind}.filters", f"must be 1 to {_MAX_CHILDREN}")
        for at, each in enumerate(children[:_MAX_CHILDREN]):
            yield from _violations(each, f"{path}.{kind}.filters[{at}]", depth + 1)


def _comparison_violations(comparison: pb.Comparison, path: str) -> Iterator[Violation]:
    if not 1 <= len(comparison.key) <= MAX_KEY_CHARACTERS:
        yield Violation(f"{path}.key", f"must have 1 to {MAX_KEY_CHARACTERS} characters")
    if not comparison.operator or comparison.operator not in pb.Operator.values():
        yield Violation(f"{path}.operator", "must be an operator of this contract")
    most = _MAX_VALUES if comparison.operator in _SEVERAL_VALUES else 1
    if not 1 <= len(comparison.values) <= most:
        rule = f"must be 1 to {most}" if most > 1 else "must be exactly one"
        yield Violation(f"{path}.values", rule)
    if max(map(len, comparison.values), default=0) > _MAX_VALUE_CHARACTERS:
        yield Violation(f"{path}.values", f"must have at most {_MAX_VALUE_CHARACTERS} characters")


def _count(expression: pb.Filter) -> int:
    return 1 + sum(map(_count, [*expression.all.filters, *expression.any.filters]))


def _condition(expression: pb.Filter) -> Condition:
    match expression.WhichOneof("condition"):
        case "all":
            return All(tuple(map(_condition, expression.all.filters)))
        case "any":
            return Some(tuple(map(_condition, expression.any.filters)))
        case _:
            return _comparison(expression.comparison)


def _comparison(comparison: pb.Comparison) -> Condition:
    key, values = comparison.key, tuple(comparison.values)
    is_column = key in _COLUMNS
    if how := _ORDERS.get(comparison.operator):
        column, entry = (key, "") if is_column else (LABELS, key)
        return Ordered(column, entry, how, values[0])
    same: Condition = In(key, values) if is_column else Tag(key, values)
    return Not(same) if comparison.operator in _NEGATIVE else same
