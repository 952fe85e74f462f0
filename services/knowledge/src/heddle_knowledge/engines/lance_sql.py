"""Conditions in the SQL of LanceDB, which takes no parameters: every value is a literal."""

from heddle_knowledge.engines.conditions import (
    BETWEEN_ENTRIES,
    LABELS,
    NUMBER,
    All,
    Compare,
    Condition,
    In,
    Not,
    Ordered,
    Scalar,
    Some,
    Tag,
    label,
    label_start,
    number,
)

_ENTRIES = f"concat(array_to_string({LABELS}, '{BETWEEN_ENTRIES}'), '{BETWEEN_ENTRIES}')"


def where_sql(condition: Condition) -> str:  # noqa: PLR0911 - one for each kind
    """Write a condition."""
    match condition:
        case Compare(column, how, value):
            return f"{column} {how} {_literal(value)}"
        case In(column, values):
            return f"{column} IN ({', '.join(map(_literal, values))})"
        case Tag(key, values):
            tests = [f"array_has({LABELS}, {quoted(label(key, value))})" for value in values]
            return _joined(tests, "OR")
        case Ordered():
            return _ordered(condition)
        case Not(inner):
            return f"NOT {where_sql(inner)}"
        case All(conditions):
            return _joined([where_sql(each) for each in conditions] or ["true"], "AND")
        case Some(conditions):
            return _joined([where_sql(each) for each in conditions], "OR")


def quoted(text: str) -> str:
    """Write a text as a literal, the only form in which one may enter a condition."""
    return "'" + text.replace("'", "''") + "'"


def _ordered(condition: Ordered) -> str:
    how, value, text = condition.how, condition.value, condition.column
    there = []
    if text == LABELS:
        start = BETWEEN_ENTRIES + label_start(condition.key)
        text = f"split_part(split_part({_ENTRIES}, {quoted(start)}, 2), '{BETWEEN_ENTRIES}', 1)"
        there = [f"contains({_ENTRIES}, {quoted(start)})"]
    as_text = f"{text} {how} {quoted(value)}"
    limit = number(value)
    if limit is None:
        return _joined([*there, as_text], "AND")
    is_number = f"regexp_like({text}, {quoted(NUMBER)})"
    as_number = f"TRY_CAST({text} AS DOUBLE) {how} {limit!r}"
    either = f"(({is_number} AND {as_number}) OR (NOT {is_number} AND {as_text}))"
    return _joined([*there, either], "AND")


def _literal(value: Scalar) -> str:
    return quoted(value) if isinstance(value, str) else str(int(value))


def _joined(conditions: list[str], word: str) -> str:
    return f"({f' {word} '.join(conditions)})"
