"""Values as Python and as some models write them, read by a grammar and never evaluated.

Nothing here calls itself, so that nesting costs memory and no stack.
"""

from typing import Any

from heddle_connector.toolcalls.brackets import MAX_DEPTH
from heddle_connector.toolcalls.grammars import Grammar, LiteralError

_CLOSING = {"[": "]", "(": ")", "{": "}"}


class _Container:
    """A list, or an object, that is being read."""

    __slots__ = ("bracket", "items", "key", "keyed", "members")

    def __init__(self, bracket: str) -> None:
        self.bracket = bracket
        self.items: list[Any] = []
        self.members: dict[str, Any] = {}
        self.keyed = False
        self.key = ""

    def add(self, value: Any) -> None:  # noqa: ANN401 - any JSON value
        if self.bracket != "{":
            self.items.append(value)
        elif self.keyed:
            self.members[self.key] = value
            self.keyed = False
        else:
            raise LiteralError("a value without a key")

    def result(self) -> Any:  # noqa: ANN401 - any JSON value
        return self.members if self.bracket == "{" else self.items


class _Reading:
    """A value that is being read."""

    __slots__ = ("_at", "_full", "_grammar", "_stack", "_text", "_value", "_written")

    def __init__(self, text: str, at: int, grammar: Grammar) -> None:
        self._text = text
        self._at = at
        self._grammar = grammar
        self._stack: list[_Container] = []
        self._full = False  # whether there is a value that has no place yet
        self._value: Any = None
        self._written = ""

    def read(self) -> tuple[Any, int]:
        token = self._grammar.token.match
        while True:
            match = token(self._text, self._at)
            if match is None or match.lastgroup is None:
                raise LiteralError(self._text[self._at : self._at + 40])
            self._at = match.end()
            part = match[match.lastgroup]
            if match.lastgroup == "mark":
                self._punctuation(part)
            elif match.lastgroup == "quote":
                self._string(part)
            else:
                self._word(part)
            if not self._full:
                continue
            if not self._stack:
                following = token(self._text, self._at) if isinstance(self._value, str) else None
                if following is None or following.lastgroup != "quote":
                    return self._value, self._at
            elif self._text.startswith(",", self._at):  # what most often follows
                self._at += 1
                self._punctuation(",")

    def _string(self, quote: str) -> None:
        ends = self._grammar.ends
        search = (ends.get(quote) or ends[quote[-1]]).search
        start = self._at
        while end := search(self._text, self._at):
            self._at = end.end()
            if not end.group().startswith("\\"):
                break
        else:
            raise LiteralError(self._text[start : start + 40])
        value = self._grammar.string(quote, self._text[start : end.start()])
        if not self._full:
            self._value = self._written = value
            self._full = True
        elif isinstance(self._value, str):  # strings side by side are one, as in Python
            self._value += value
        else:
            raise LiteralError("a string after a value")

    def _word(self, part: str) -> None:
        if self._full:
            raise LiteralError("a value after a value")
        self._written = part.strip()
        inside = self._stack[-1] if self._stack else None
        is_key = inside and inside.bracket == "{" and not inside.keyed
        if is_key and self._text.startswith(":", self._at):
            self._value = self._written
        else:
            self._value = self._grammar.word(part)
        self._full = True

    def _punctuation(self, punctuation: str) -> None:
        if punctuation in _CLOSING:
            if self._full or len(self._stack) >= MAX_DEPTH:
                raise LiteralError("a bracket after a value, or too many")
            self._stack.append(_Container(punctuation))
        elif not self._stack:
            raise LiteralError("punctuation in place of a value")
        elif punctuation in _CLOSING.values():
            self._close(punctuation)
        elif not self._full:
            raise LiteralError("punctuation without a value")
        elif punctuation == ",":
            self._stack[-1].add(self._value)
            self._full = False
        else:
            inside = self._stack[-1]
            if inside.keyed or inside.bracket != "{":
                raise LiteralError("a colon that ends no key")
            inside.key = self._value if isinstance(self._value, str) else self._written
            inside.keyed, self._full = True, False

    def _close(self, punctuation: str) -> None:
        inside = self._stack.pop()
        if _CLOSING[inside.bracket] != punctuation or (inside.keyed and not self._full):
            raise LiteralError("a bracket that closes another")
        if self._full:
            inside.add(self._value)
        self._value, self._full = inside.result(), True


def read_literal(text: str, at: int, grammar: Grammar) -> tuple[Any, int]:
    """Read the value that begins at the index `at`; return it and the index after it.

    Tuples are lists. Keys are strings, also where numbers were written.

    Raises:
        LiteralError: There is no value, or one that is nested too deeply.
    """
    return _Reading(text, at, grammar).read()
