"""Conditions in the SQL of PostgreSQL: every value is a parameter."""

from collections.abc import Sequence

from heddle_knowledge.engines.conditions import (
    LABELS,
    NUMBER,
    All,
    Compare,
    Condition,
    In,
    Not,
    Ordered,
    Some,
    Tag,
    label,
    label_start,
    number,
)


class Parameters:
    """Collects the values of a statement."""

    def __init__(self, *values: object) -> None:
        self.values = [*values]

    def add(self, value: object) -> str:
        """Add a value, and return its parameter in the statement."""
        self.values.append(value.replace("\0", "\ufffd") if isinstance(value, str) else value)
        return f"${len(self.values)}"


def where_sql(condition: Condition, parameters: Parameters) -> str:  # noqa: PLR0911 - one for each kind
    """Write a condition; its values go to the parameters."""
    match condition:
        case Compare(column, how, value):
            kind = "text" if isinstance(value, str) else "bigint"
            return f"{column} {how} {parameters.add(value)}::{kind}"
        case In(column, values):
            kind = "text" if isinstance(values[0], str) else "bigint"
            return f"{column} = ANY({parameters.add(list(values))}::{kind}[])"
        case Tag(key, values):
            labels = [label(key, value) for value in values]
            return f"coalesce({LABELS} && {parameters.add(labels)}::text[], false)"
        case Ordered():
            return _ordered(condition, parameters)
        case Not(inner):
            return f"NOT {where_sql(inner, parameters)}"
        case All(conditions):
            return _joined(conditions, parameters, "AND") or "true"
        case Some(conditions):
            return _joined(conditions, parameters, "OR")


def _ordered(condition: Ordered, parameters: Parameters) -> str:
    start = label_start(condition.key)
    labelled = condition.column == LABELS
    text = f"substr(entry, {len(start) + 1})" if labelled else condition.column
    as_text = f'{text} COLLATE "C" {condition.how} {parameters.add(condition.value)}::text'
    compared = as_text
    limit = number(condition.value)
    if limit is not None:
        as_number = f"{text}::float8 {condition.how} {parameters.add(limit)}::float8"
        is_number = f"{text} ~ '{NUMBER}'"
        compared = f"CASE WHEN {is_number} THEN {as_number} ELSE {as_text} END"
    if not labelled:
        return f"({compared})"
    begins = f"starts_with(entry, {parameters.add(start)}::text)"
    return f"EXISTS (SELECT FROM unnest({LABELS}) AS entry WHERE {begins} AND {compared})"


def _joined(conditions: Sequence[Condition], parameters: Parameters, word: str) -> str:
    written = [where_sql(each, parameters) for each in conditions]
    return f"({f' {word} '.join(written)})" if written else ""
