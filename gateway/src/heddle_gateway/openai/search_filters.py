"""OpenAI's filters of file attributes, as filters of the knowledge service."""

from typing import Annotated, Literal

from heddle.knowledge.v1 import knowledge_pb2 as pb
from pydantic import Field

from heddle_gateway.http.error_responses import invalid
from heddle_gateway.http.models import Model, Name

MAX_LEVELS = 8
MAX_FILTERS = 32
MAX_VALUES = 256
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
Value = str | int | float | bool


class Comparison(Model):
    """A comparison of an attribute with a value."""

    type: Literal["eq", "ne", "gt", "gte", "lt", "lte"]
    key: Name
    value: Value


class Membership(Model):
    """A comparison of an attribute with several values."""

    type: Literal["in", "nin"]
    key: Name
    value: Annotated[list[Value], Field(min_length=1, max_length=MAX_VALUES)]


class Compound(Model):
    """A combination of filters, with at most eight levels."""

    type: Literal["and", "or"]
    filters: Annotated[list["AttributeFilter"], Field(min_length=1, max_length=MAX_FILTERS)]


AttributeFilter = Annotated[Comparison | Membership | Compound, Field(discriminator="type")]


def to_filter(
    condition: Comparison | Membership | Compound, path: str = "filters", level: int = 1
) -> pb.Filter:
    """Return a filter as the contract has it.

    Raises:
        InvalidRequestError: It has too many levels.
    """
    if not isinstance(condition, Compound):
        values = condition.value if isinstance(condition.value, list) else [condition.value]
        comparison = pb.Comparison(
            key=condition.key, operator=_OPERATORS[condition.type], values=map(_text, values)
        )
        return pb.Filter(comparison=comparison)
    if level == MAX_LEVELS:
        raise invalid(path, f"is nested more than {MAX_LEVELS} levels deep")
    inner = pb.Filters(
        filters=[
            to_filter(each, f"{path}.filters[{index}]", level + 1)
            for index, each in enumerate(condition.filters)
        ]
    )
    return pb.Filter(all=inner) if condition.type == "and" else pb.Filter(any=inner)


def _text(value: Value) -> str:
    """Return a value as it appears in the metadata of documents."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
