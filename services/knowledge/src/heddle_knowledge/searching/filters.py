"""From what callers ask of documents to conditions on rows."""

from datetime import datetime

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
from heddle_knowledge.records import AllOf, AnyOf, Comparison, Filter, Operator

OWN = frozenset({"document", "document_id", "title", "media_type", "uri"})
"""Keys that mean what the document itself has, not its metadata."""
TIME = "document_time"
_ORDERS: dict[Operator, How] = {
    "less": "<",
    "less_or_equal": "<=",
    "greater": ">",
    "greater_or_equal": ">=",
}


def matching(
    expression: Filter | None,
    time_from: datetime | None = None,
    time_to: datetime | None = None,
) -> Condition:
    """Return the condition on rows.

    Args:
        expression: What the documents must be like, or None.
        time_from: Only documents of this time or later.
        time_to: Only documents of before this time.
    """
    condition = EVERYTHING if expression is None else _condition(expression)
    if time_from is not None:
        condition = both(condition, Compare(TIME, ">=", _microseconds(time_from)))
    if time_to is not None:
        condition = both(condition, Compare(TIME, "<", _microseconds(time_to)))
    return condition


def _condition(expression: Filter) -> Condition:
    match expression:
        case AllOf(filters):
            return All(tuple(map(_condition, filters)))
        case AnyOf(filters):
            return Some(tuple(map(_condition, filters)))
        case Comparison():
            return _comparison(expression)


def _comparison(expression: Comparison) -> Condition:
    key, values = expression.key, expression.values
    own = key in OWN
    if expression.operator in _ORDERS:
        how = _ORDERS[expression.operator]
        return Ordered(key, "", how, values[0]) if own else Ordered(LABELS, key, how, values[0])
    same: Condition = In(key, values) if own else Tag(key, values)
    return Not(same) if expression.operator in {"not_equal", "not_in"} else same


def _microseconds(time: datetime) -> int:
    return int(time.timestamp() * 1_000_000)
