"""Filters of tools as messages of the knowledge service."""

from heddle.knowledge.v1 import knowledge_pb2 as pb

from heddle_tools_service.capabilities.filters import AllOf, AnyOf, Comparison, Filter, Operator

_OPERATORS: dict[Operator, pb.Operator.ValueType] = {
    "equal": pb.OPERATOR_EQUAL,
    "not_equal": pb.OPERATOR_NOT_EQUAL,
    "less": pb.OPERATOR_LESS,
    "less_or_equal": pb.OPERATOR_LESS_OR_EQUAL,
    "greater": pb.OPERATOR_GREATER,
    "greater_or_equal": pb.OPERATOR_GREATER_OR_EQUAL,
    "in": pb.OPERATOR_IN,
    "not_in": pb.OPERATOR_NOT_IN,
}


def filter_message(condition: Filter) -> pb.Filter:
    """Return a filter as the knowledge service reads it."""
    match condition:
        case Comparison(key, operator, values):
            comparison = pb.Comparison(key=key, operator=_OPERATORS[operator], values=values)
            return pb.Filter(comparison=comparison)
        case AllOf(filters):
            return pb.Filter(all=pb.Filters(filters=map(filter_message, filters)))
        case AnyOf(filters):
            return pb.Filter(any=pb.Filters(filters=map(filter_message, filters)))
