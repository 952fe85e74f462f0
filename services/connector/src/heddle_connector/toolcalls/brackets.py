"""Finds the end of a bracketed value, reading each character once."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from heddle_connector.toolcalls.scanners import Scan
from heddle_connector.toolcalls.source import Source

MAX_DEPTH = 100
"""Levels of brackets. Real calls have less than ten."""


@dataclass(frozen=True, slots=True)
class Notation:
    """The brackets and quotes of a notation."""

    outside: re.Pattern[str]
    """Matches what counts outside of strings: brackets, quotes, and what cannot be there at all."""
    strings: Mapping[str, re.Pattern[str]]
    """For each opening quote what counts inside of the string: its end, and escapes."""
    longest: int = 1
    """Characters of the longest quote."""


_DOUBLE = re.compile(r'"|(?:\\.){1,64}+', re.DOTALL)
_SINGLE = re.compile(r"'|(?:\\.){1,64}+", re.DOTALL)

JSON = Notation(
    re.compile(r'"(?:[^"\\]|\\.){0,256}+"|[^\s\d:,+\-.eEtrufalsn]', re.DOTALL), {'"': _DOUBLE}, 2
)
PYTHON = Notation(
    re.compile(
        r""""(?:[^"\\]|\\.){0,256}+"|'(?:[^'\\]|\\.){0,256}+'|[][(){}'"<>`;@#$!?&|^~\\]""",
        re.DOTALL,
    ),
    {'"': _DOUBLE, "'": _SINGLE},
    2,
)
_STRAY = r"<tool_call\|>|<\|tool_call>|<end_function_call>|<start_function_call>"
FIELDS = Notation(
    re.compile(r'[][{}]|<\|"\|>|<escape>|' + _STRAY),
    {'<|"|>': re.compile(r'<\|"\|>'), "<escape>": re.compile("<escape>")},
    21,
)

_STEPS = {"[": 1, "(": 1, "{": 1, "]": -1, ")": -1, "}": -1}


def bracketed(source: Source, notation: Notation) -> Scan[str | None]:
    """Take a value that begins with a bracket, up to its closing bracket.

    Returns:
        The value's text, whose brackets match in number; None if something stands in it that the
        notation does not know, if it is nested too deeply, or if the message ends before it.
    """
    parts: list[str] = []
    depth = 0
    pattern = notation.outside
    while True:
        text = source.text
        at = source.position
        while match := pattern.search(text, at):
            at = match.end()
            matched = match.group()
            if pattern is not notation.outside:
                pattern = pattern if matched[0] == "\\" else notation.outside
            elif matched in _STEPS:
                depth += _STEPS[matched]
                if depth <= 0 or depth > MAX_DEPTH:
                    parts.append(source.take(at))
                    return None if depth else "".join(parts)
            elif matched in notation.strings:
                pattern = notation.strings[matched]
            elif matched[0] not in notation.strings:  # else it is a whole string
                source.position = at
                return None
        if source.ended:
            source.position = len(text)
            return None
        parts.append(source.take(max(len(text) - notation.longest + 1, at)))
        yield


def shallow(text: str, notation: Notation) -> bool:
    """Return whether a whole bracketed value has at most `MAX_DEPTH` levels."""
    if sum(map(text.count, "[({")) <= MAX_DEPTH:
        return True
    source = Source()
    source.feed(text)
    source.end()
    for _ in bracketed(source, notation):
        pass
    return source.position == len(text)
