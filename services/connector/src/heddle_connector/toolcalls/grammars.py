"""The notations of values: numbers, words and strings of Python and of some models."""

import math
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from heddle_connector.toolcalls.brackets import FIELDS as FIELD_SPANS
from heddle_connector.toolcalls.brackets import PYTHON as PYTHON_SPANS

_NUMBER = re.compile(r"[+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\Z", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d[\d_]*\Z", re.ASCII)
_CONSTANTS = {
    **dict.fromkeys(("True", "true"), True),
    **dict.fromkeys(("False", "false"), False),
    **dict.fromkeys(("None", "none", "null"), None),
}
_ESCAPE = re.compile(r"\\(x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|[0-7]{1,3}|.)", re.DOTALL)
_ESCAPES = {
    **dict(zip("ntrbfav", "\n\t\r\b\f\a\v", strict=True)),
    **{character: character for character in "\\'\""},
    "\n": "",
}


class LiteralError(ValueError):
    """The text is not a value."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """The parts of values in one notation: brackets, strings and words."""

    token: re.Pattern[str]
    """Groups: `mark` for brackets, commas and colons; `quote`, which begins a string; `word`."""
    ends: Mapping[str, re.Pattern[str]]
    """For each quote what counts inside of the string: its end, and escapes."""
    string: Callable[[str, str], str]
    """Turns a quote, with what stands directly before it, and the text inside into a string."""
    word: Callable[[str], Any]
    """Turns a `word` into what it means.

    Raises:
        LiteralError: It means nothing.
    """


def number(text: str) -> int | float:
    """Return the finite number that `text` writes.

    Raises:
        LiteralError: It writes none.
    """
    try:
        if _INTEGER.match(text):
            return int(text)
        if _NUMBER.match(text) and math.isfinite(value := float(text)):
            return value
    except ValueError:
        pass  # more digits than Python converts
    raise LiteralError(text[:40])


def _python_string(quote: str, text: str) -> str:
    return text if "\\" not in text or "r" in quote.lower() else _ESCAPE.sub(_unescaped, text)


def _unescaped(match: re.Match[str]) -> str:
    escape = match.group(1)
    if escape in _ESCAPES:
        return _ESCAPES[escape]
    if escape[0] in "xuU" and len(escape) > 1:
        code = int(escape[1:], 16)
        return "\ufffd" if code > sys.maxunicode else chr(code)
    if escape[0] in "01234567":
        return chr(int(escape, 8))
    return "\\" + escape


def _python_word(text: str) -> Any:  # noqa: ANN401 - any JSON value
    return _CONSTANTS[text] if text in _CONSTANTS else number(text)


def _field_word(text: str) -> Any:  # noqa: ANN401 - any JSON value
    word = text.strip()
    if word in _CONSTANTS:
        return _CONSTANTS[word]
    try:
        return number(word)
    except LiteralError:
        return word


def _field_string(_quote: str, text: str) -> str:
    return text


PYTHON = Grammar(
    re.compile(
        r"""\s*+(?:(?P<mark>[][(){},:])"""
        r"""|(?P<quote>[rRbBuU]{0,2}['"])"""
        r"""|(?P<word>[+-]?\d[\w.]*+(?:(?<=[eE])[+-]\d++)?|[+-]?\.\d\w*+|[^\W\d]\w*+))"""
    ),
    PYTHON_SPANS.strings,
    _python_string,
    _python_word,
)

FIELDS = Grammar(
    re.compile(
        r"""\s*+(?:(?P<mark>[][{},:])|(?P<quote><\|"\|>|<escape>)|(?P<word>[^][{},:<]++))"""
    ),
    FIELD_SPANS.strings,
    _field_string,
    _field_word,
)
