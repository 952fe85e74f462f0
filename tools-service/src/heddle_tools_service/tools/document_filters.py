"""A small language for conditions on documents, for services without a small fast model.

[list | count] [CONDITION {and CONDITION}] [by FIELD] [newest | oldest | largest] [limit N]

CONDITION   FIELD OPERATOR VALUE | before DATE | after DATE
OPERATOR    = != < <= > >= ~      (~ is: contains)
FIELD       a column, or a key of the metadata
VALUE       a word or number; 'anything' or "anything" in quotes
"""

import re
from collections.abc import Mapping, Sequence

FORM = (
    "[list|count] FIELD OPERATOR VALUE [and ...] [before|after YYYY-MM-DD] [by FIELD] "
    "[newest|oldest|largest] [limit N], with the operators = != < <= > >= and ~ for 'contains'"
)
_TOKEN = re.compile(r"""\s*(?:'([^']*)'|"([^"]*)"|([<>!=]=?|~)|([^\s<>!=~'"]+))""")
_OPERATORS = {"=": "=", "==": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_ORDERS = {
    "newest": "document_time DESC",
    "oldest": "document_time",
    "largest": "size DESC",
}
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d)?)?")
_NUMBER = re.compile(r"-?\d{1,15}(\.\d{1,10})?")
_LISTED = "title, document, media_type, size, document_time"


class NotAFilterError(ValueError):
    """The text is not of this language; the message says where it stops being so."""


def query_of(text: str, columns: Mapping[str, str]) -> str:
    """Return the SELECT statement that a filter means.

    Args:
        text: The filter.
        columns: The types of the columns of `documents` by their names.

    Raises:
        NotAFilterError: It is none.
    """
    return _Filter(_tokens(text), columns).read()


def _tokens(text: str) -> list[tuple[str, bool]]:
    """Return the words of a text, and of each whether it stood in quotes."""
    tokens, at = [], 0
    text = text.strip().rstrip("?.")
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise NotAFilterError(f"unreadable from {text[at : at + 20]!r} on")
        single, double, operator, word = match.groups()
        quoted = single if single is not None else double
        tokens.append((quoted, True) if quoted is not None else (operator or word, False))
        at = match.end()
    if not tokens:
        raise NotAFilterError("it is empty")
    return tokens


class _Filter:
    """Reads a filter word by word."""

    def __init__(self, tokens: Sequence[tuple[str, bool]], columns: Mapping[str, str]) -> None:
        self._tokens = tokens
        self._columns = {name.lower(): (name, kind) for name, kind in columns.items()}
        self._at = 0

    def read(self) -> str:
        selected, order, limit, grouped = _LISTED, "", "", ""
        conditions: list[str] = []
        counting = self._taken("count")
        if not counting:
            self._taken("list")
        self._taken("where")
        while self._at < len(self._tokens):
            if self._taken("by"):
                grouped = self._column(self._word("a field"))
            elif (word := self._peek()) in _ORDERS:
                order = f" ORDER BY {_ORDERS[word]}"
                self._at += 1
            elif self._taken("limit"):
                limit = f" LIMIT {self._whole()}"
            else:
                if conditions:
                    self._taken("and")
                conditions.append(self._condition())
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        if grouped:
            selected, order = f"{grouped}, COUNT(*) AS documents", " ORDER BY documents DESC"
            where += f" GROUP BY {grouped}"
        elif counting:
            selected, order = "COUNT(*) AS documents", ""
        return f"SELECT {selected} FROM documents{where}{order}{limit}"  # noqa: S608 - every part is made here or quoted

    def _condition(self) -> str:
        word = self._word("a condition")
        if word.lower() in {"before", "after", "since"}:
            date = self._word("a date")
            if not _DATE.fullmatch(date):
                raise NotAFilterError(f"{date!r} is no date such as 2026-01-31")
            return f"document_time {'<' if word.lower() == 'before' else '>='} {_text(date)}"
        operator = self._word("an operator")
        if operator != "~" and operator not in _OPERATORS:
            raise NotAFilterError(f"{operator!r} is no operator")
        value = self._word("a value")
        if word.lower() in self._columns:
            name, kind = self._columns[word.lower()]
            return _compared(f'"{name}"', operator, value, number=kind != "TEXT")
        about = _compared("m.value", operator, value, number=False)
        return (
            "EXISTS (SELECT 1 FROM metadata AS m WHERE m.document_id = documents.document_id "  # noqa: S608 - quoted
            f"AND m.key = {_text(word)} AND {about})"
        )

    def _column(self, word: str) -> str:
        if word.lower() not in self._columns:
            raise NotAFilterError(f"there is no column {word!r}")
        return f'"{self._columns[word.lower()][0]}"'

    def _whole(self) -> str:
        word = self._word("a number")
        if not word.isascii() or not word.isdecimal():
            raise NotAFilterError(f"{word!r} is no whole number")
        return word

    def _peek(self) -> str:
        word, quoted = self._tokens[self._at]
        return "" if quoted else word.lower()

    def _taken(self, word: str) -> bool:
        if self._at < len(self._tokens) and self._peek() == word:
            self._at += 1
            return True
        return False

    def _word(self, what: str) -> str:
        if self._at == len(self._tokens):
            raise NotAFilterError(f"{what} is missing at the end")
        self._at += 1
        return self._tokens[self._at - 1][0]


def _compared(column: str, operator: str, value: str, *, number: bool) -> str:
    if operator == "~":
        pattern = re.sub(r"([%_\\])", r"\\\1", value)
        return f"{column} LIKE {_text(f'%{pattern}%')} ESCAPE {_text(chr(92))}"
    if number and _NUMBER.fullmatch(value):
        return f"{column} {_OPERATORS[operator]} {value}"
    return f"{column} {_OPERATORS[operator]} {_text(value)}"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
