"""Values as Python and as some models write them, read by a grammar and never evaluated.

Nothing here calls itself, so that nesting costs memory and no stack.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_NUMBER = re.compile(r"[+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\Z", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d[\d_]*\Z", re.ASCII)
_CONSTANTS = {
    **{"True": True, "true": True, "False": False, "false": False},
    **{"None": None, "null": None, "none": None},
}
_ESCAPE = re.compile(r"\\(x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|[0-7]{1,3}|.)", re.DOTALL)
_ESCAPES = {
    **{"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v"},
    **{"\n": "", "\\": "\\", "'": "'", '"': '"'},
}
_CLOSING = {"[": "]", "(": ")", "{": "}"}


class LiteralError(ValueError):
    """The text is not a value."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """How the parts of a value are written."""

    token: re.Pattern[str]
    """Groups: `mark` for brackets, commas and colons; `string`; `word` for everything else."""
    string: Callable[[str], str]
    """Turns the text of a `string` into what it means."""
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


def _python_string(text: str) -> str:
    start = min(at for at in (text.find("'"), text.find('"')) if at >= 0)
    body = text[start + 1 : -1]
    if "\\" not in body or "r" in text[:start].lower():
        return body
    return _ESCAPE.sub(_unescaped, body)


def _unescaped(match: re.Match[str]) -> str:
    escape = match.group(1)
    if escape in _ESCAPES:
        return _ESCAPES[escape]
    if escape[0] in "xuU" and len(escape) > 1:
        code = int(escape[1:], 16)
        return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
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


PYTHON = Grammar(
    re.compile(
        r"""\s*+(?:(?P<mark>[][(){},:])"""
        r"""|(?P<string>[rRbBuU]{0,2}(?:'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+"))"""
        r"""|(?P<word>[+-]?\d[\w.]*+(?:(?<=[eE])[+-]\d++)?|[+-]?\.\d[\w]*+|[^\W\d]\w*+))""",
        re.DOTALL,
    ),
    _python_string,
    _python_word,
)

FIELDS = Grammar(
    re.compile(
        r"""\s*+(?:(?P<mark>[][{},:])"""
        r"""|(?P<string><\|"\|>(?:[^<]|<(?!\|"\|>))*+<\|"\|>"""
        r"""|<escape>(?:[^<]|<(?!escape>))*+<escape>)"""
        r"""|(?P<word>[^][{},:<]++))"""
    ),
    lambda text: text[5:-5] if text[1] == "|" else text[8:-8],
    _field_word,
)


class _Container:
    """A list, or an object, that is being read."""

    __slots__ = ("bracket", "items", "key", "keyed", "pairs")

    def __init__(self, bracket: str) -> None:
        self.bracket = bracket
        self.items: list[Any] = []
        self.pairs: dict[str, Any] = {}
        self.keyed = False
        self.key = ""

    def add(self, value: Any) -> None:  # noqa: ANN401 - any JSON value
        if self.bracket != "{":
            self.items.append(value)
        elif self.keyed:
            self.pairs[self.key] = value
            self.keyed = False
        else:
            raise LiteralError("a value without a key")

    def result(self) -> Any:  # noqa: ANN401 - any JSON value
        return self.pairs if self.bracket == "{" else self.items


def read_literal(text: str, at: int, grammar: Grammar) -> tuple[Any, int]:
    """Read the value that begins at the index `at`; return it and the index after it.

    Tuples are lists. Keys are strings, also where numbers were written.

    Raises:
        LiteralError: There is no value.
    """
    stack: list[_Container] = []
    value: Any = None
    written = ""
    has_value = False
    while True:
        match = grammar.token.match(text, at)
        if match is None:
            raise LiteralError(text[at : at + 40])
        at = match.end()
        mark = match["mark"]
        if mark is None:
            string, word = match["string"], match["word"]
            if has_value:  # strings side by side are one, as in Python
                if string is None or not isinstance(value, str):
                    raise LiteralError(text[at : at + 40])
                value += grammar.string(string)
            elif string is not None:
                value = written = grammar.string(string)
            else:
                written = word.strip()
                value = _key_or_value(stack, text, at, word, grammar)
            has_value = True
        elif mark in _CLOSING:
            if has_value:
                raise LiteralError("a bracket after a value")
            stack.append(_Container(mark))
            continue
        elif not stack:
            raise LiteralError("a mark where a value should be")
        elif mark == ":":
            container = stack[-1]
            if not has_value or container.keyed or container.bracket != "{":
                raise LiteralError("a colon that ends no key")
            container.key = value if isinstance(value, str) else written
            container.keyed, has_value = True, False
            continue
        elif mark == ",":
            if not has_value:
                raise LiteralError("a comma after no value")
            stack[-1].add(value)
            has_value = False
            continue
        else:
            container = stack.pop()
            if _CLOSING[container.bracket] != mark or (container.keyed and not has_value):
                raise LiteralError("a bracket that closes another")
            if has_value:
                container.add(value)
            value, has_value = container.result(), True
        if not stack and not _string_follows(text, at, value, grammar):
            return value, at


def _key_or_value(stack: list[_Container], text: str, at: int, word: str, grammar: Grammar) -> Any:  # noqa: ANN401 - any JSON value
    """Return what a word means: as a key itself, else what the grammar says."""
    if stack and stack[-1].bracket == "{" and not stack[-1].keyed and text[at : at + 1] == ":":
        return word.strip()
    return grammar.word(word)


def _string_follows(text: str, at: int, value: Any, grammar: Grammar) -> bool:  # noqa: ANN401
    match = grammar.token.match(text, at) if isinstance(value, str) else None
    return match is not None and match["string"] is not None
