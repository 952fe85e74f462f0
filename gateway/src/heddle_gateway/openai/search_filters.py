"""OpenAI's filters of file attributes as those of the knowledge service."""

from typing import Any

from heddle.knowledge.v1 import knowledge_pb2 as pb

from heddle_gateway.http import validation
from heddle_gateway.http.json_text import Place

MOST_NESTED = 8
_MOST_FILTERS = 32
_MOST_VALUES = 256
_OPERATORS = {
    "eq": pb.OPERATOR_EQUAL,
    "ne": pb.OPERATOR_NOT_EQUAL,
    "gt": pb.OPERATOR_GREATER,
    "gte": pb.OPERATOR_GREATER_OR_EQUAL,
    "lt": pb.OPERATOR_LESS,
    "lte": pb.OPERATOR_LESS_OR_EQUAL,
    "in": pb.OPERATOR_IN,
    "nin": pb.OPERATOR_NOT_IN,
}
_JOINED = ("and", "or")
_TYPES = (*_OPERATORS, *_JOINED)


def condition(given: object, place: Place, depth: int = 1) -> pb.Filter:
    """Return the filter that a body describes.

    Raises:
        InvalidRequestError: It is none.
    """
    told = validation.mapping(given, place)
    kind = validation.choice(told.get("type"), place, "type", among=_TYPES)
    if kind not in _JOINED:
        return pb.Filter(comparison=_comparison(told, place, kind))
    if depth == MOST_NESTED:
        raise place.wrong(f"is nested more than {MOST_NESTED} levels deep")
    items = validation.items(told.get("filters"), place, "filters", most=_MOST_FILTERS)
    if not items:
        raise place.at("filters").wrong("must not be empty")
    inner = pb.Filters(
        filters=[
            condition(item, place.at("filters", index), depth + 1)
            for index, item in enumerate(items)
        ]
    )
    return pb.Filter(all=inner) if kind == "and" else pb.Filter(any=inner)


def _comparison(told: dict[str, Any], place: Place, kind: str) -> pb.Comparison:
    key = validation.text(told.get("key"), place, "key", empty=False)
    value = told.get("value")
    if kind in ("in", "nin"):
        values = validation.items(value, place, "value", most=_MOST_VALUES)
        if not values:
            raise place.at("value").wrong("must not be empty")
        texts = [_text(item, place.at("value", index)) for index, item in enumerate(values)]
    else:
        texts = [_text(value, place.at("value"))]
    return pb.Comparison(key=key, operator=_OPERATORS[kind], values=texts)


def _text(value: object, place: Place) -> str:
    """Return a value as the metadata of documents have it."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case float() if value.is_integer():
            return str(int(value))
        case int() | float():
            return str(value)
        case _:
            raise place.wrong("must be a text, a number or a truth value")
