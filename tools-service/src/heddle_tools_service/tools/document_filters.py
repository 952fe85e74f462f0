"""A small language for conditions on documents, for services without a small fast model.

[list | count] [CONDITION {and CONDITION}] [by FIELD] [newest | oldest | largest] [limit N]

CONDITION   FIELD OPERATOR VALUE | before DATE | after DATE
OPERATOR    = != < <= > >= ~      (~ means: contains)
FIELD       a column, or a key of the metadata
VALUE       a word or number; 'anything' or "anything" in quotes
"""

import re
from collections.abc import Iterator, Mapping

FORM = (
    "[list|count] FIELD OPERATOR VALUE [and ...] [before|after YYYY-MM-DD] [by FIELD] "
    "[newest|oldest|largest] [limit N], with the operators = != < <= > >= and ~ for 'contains'"
)
_VALUE = r"""(?:'[^']*'|"[^"]*"|[^\s<>!=~'"]+)"""
_VERB = re.compile(r"(?:(?:(count)|list)\b)?\s*(?:where\b)?", re.IGNORECASE)
_CLAUSE = re.compile(
    rf"""\s*(?:
        (?P<order>newest|oldest|largest)\b
        | by\s+(?P<group>{_VALUE})
        | limit\s+(?P<limit>{_VALUE})
        | (?P<time>before|after|since)\s+(?P<date>{_VALUE})
        | (?P<field>{_VALUE})\s*(?P<operator>[<>!=]=?|~|{_VALUE})?\s*(?P<value>{_VALUE})?
    )(?:\s+and\b)?\s*""",
    re.VERBOSE | re.IGNORECASE,
)
_OPERATORS = {"=": "=", "==": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_ORDERS = {"newest": "document_time DESC", "oldest": "document_time", "largest": "size DESC"}
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d)?)?")
_NUMBER = re.compile(r"-?\d{1,15}(\.\d{1,10})?")
_LISTED = "title, document, media_type, size, document_time"


class NotAFilterError(ValueError):
    """The text is not a filter; the message says where it is wrong."""


def query_of(text: str, columns: Mapping[str, str]) -> str:
    """Return the SELECT statement that a filter means.

    Args:
        text: The filter.
        columns: The types of the columns of `documents` by their names.

    Raises:
        NotAFilterError: The text is not a filter.
    """
    text = text.strip().rstrip("?.")
    if not text:
        raise NotAFilterError("it is empty")
    verb = _VERB.match(text)
    counting = verb is not None and verb[1] is not None
    known = {name.lower(): (name, kind) for name, kind in columns.items()}
    selected, order, limit, grouped = _LISTED, "", "", ""
    conditions: list[str] = []
    for clause in _clauses(text, verb.end() if verb else 0):
        if clause["order"]:
            order = f" ORDER BY {_ORDERS[clause['order'].lower()]}"
        elif clause["group"]:
            grouped = _column(_unquoted(clause["group"]), known)
        elif clause["limit"]:
            limit = f" LIMIT {_whole(_unquoted(clause['limit']))}"
        else:
            conditions.append(_condition(clause, known))
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    if grouped:
        selected, order = f"{grouped}, COUNT(*) AS documents", " ORDER BY documents DESC"
        where += f" GROUP BY {grouped}"
    elif counting:
        selected, order = "COUNT(*) AS documents", ""
    return f"SELECT {selected} FROM documents{where}{order}{limit}"  # noqa: S608 - every part is made here or quoted


def _clauses(text: str, at: int) -> Iterator[re.Match[str]]:
    while at < len(text):
        clause = _CLAUSE.match(text, at)
        if clause is None or (clause["field"] and not clause["value"] and clause.end() < len(text)):
            rest = text[clause.end() if clause else at :]
            raise NotAFilterError(f"unreadable from {rest[:20]!r} on")
        yield clause
        at = clause.end()


def _condition(clause: re.Match[str], columns: Mapping[str, tuple[str, str]]) -> str:
    if clause["time"]:
        date = _unquoted(clause["date"])
        if not _DATE.fullmatch(date):
            raise NotAFilterError(f"{date!r} is no date such as 2026-01-31")
        return f"document_time {'<' if clause['time'].lower() == 'before' else '>='} {_text(date)}"
    field, operator = _unquoted(clause["field"]), clause["operator"]
    if operator is None:
        raise NotAFilterError("an operator is missing at the end")
    if operator != "~" and operator not in _OPERATORS:
        raise NotAFilterError(f"{operator!r} is no operator")
    if clause["value"] is None:
        raise NotAFilterError("a value is missing at the end")
    value = _unquoted(clause["value"])
    if field.lower() in columns:
        name, kind = columns[field.lower()]
        return _compared(f'"{name}"', operator, value, number=kind != "TEXT")
    about = _compared("m.value", operator, value, number=False)
    return (
        "EXISTS (SELECT 1 FROM metadata AS m WHERE m.document_id = documents.document_id "  # noqa: S608 - quoted
        f"AND m.key = {_text(field)} AND {about})"
    )


def _column(word: str, columns: Mapping[str, tuple[str, str]]) -> str:
    if word.lower() not in columns:
        raise NotAFilterError(f"there is no column {word!r}")
    return f'"{columns[word.lower()][0]}"'


def _whole(word: str) -> str:
    if not word.isascii() or not word.isdecimal():
        raise NotAFilterError(f"{word!r} is no whole number")
    return word


def _unquoted(word: str) -> str:
    return word[1:-1] if word[0] in "'\"" else word


def _compared(column: str, operator: str, value: str, *, number: bool) -> str:
    if operator == "~":
        pattern = re.sub(r"([%_\\])", r"\\\1", value)
        return f"{column} LIKE {_text(f'%{pattern}%')} ESCAPE {_text(chr(92))}"
    if number and _NUMBER.fullmatch(value):
        return f"{column} {_OPERATORS[operator]} {value}"
    return f"{column} {_OPERATORS[operator]} {_text(value)}"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
