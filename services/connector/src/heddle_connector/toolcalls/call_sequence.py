"""Calls one after another: JSON objects or Python's calls, alone, in a list, or separated."""

import re
from typing import Any

from heddle_connector.toolcalls.brackets import JSON, bracketed
from heddle_connector.toolcalls.brackets import PYTHON as PYTHON_SPANS
from heddle_connector.toolcalls.events import CallRead
from heddle_connector.toolcalls.grammars import PYTHON, LiteralError
from heddle_connector.toolcalls.json_calls import call_of, read_json
from heddle_connector.toolcalls.literals import read_literal
from heddle_connector.toolcalls.names import LONGEST_NAME
from heddle_connector.toolcalls.parse_context import Attempt
from heddle_connector.toolcalls.scanners import Scan, peek, space, within

_DOTTED = re.compile(r"[\w.\-]*+")
_KEYWORD = re.compile(r"\s*+([^\W\d]\w*+)\s*+=(?!=)")
_BETWEEN = re.compile(r"\s*+([,)])")
_MOST_MARKS = 4  # between calls: `}`, `]`, `;` and `,` where they are too many


def sequence(
    attempt: Attempt, *, keyed: bool = False, python: bool = False, bare: bool = False
) -> Scan[bool]:
    """Read calls as long as they follow each other, and tell of each as soon as it is complete.

    Args:
        attempt: Where to read.
        keyed: Whether `{"f": {"a": 1}}` is a call of f.
        python: Whether `f(a=1)` is a call of f.
        bare: Whether no mark has promised calls: then they must have arguments, and be of known
            functions if any are known; in a list only the first must.

    Returns:
        Whether there was a call, or an empty list after a mark.
    """
    source = attempt.source
    in_list = False
    marks = 0
    while True:
        yield from space(source)
        character = yield from peek(source)
        if character == "{":
            attempt.committed = not bare
            call = yield from _object(attempt, keyed=keyed, complete=bare)
        elif python and (character == "_" or character.isalpha()):
            call = yield from _python_call(attempt)
        elif character == "[" and not in_list and not marks:
            in_list = True
            source.take(source.position + 1)
            continue
        elif character == "]" and in_list:
            source.take(source.position + 1)
            attempt.passed()
            return attempt.count > 0 or not bare
        elif character and character in ",;}]" and attempt.count and marks < _MOST_MARKS:
            marks += 1
            source.take(source.position + 1)
            continue
        else:
            return attempt.count > 0
        if call is None:
            return False
        strict = bare and not (in_list and attempt.count)
        if strict and not attempt.functions.plausible(call.name):
            return False
        marks = 0
        attempt.found(call)


def _object(attempt: Attempt, *, keyed: bool, complete: bool) -> Scan[CallRead | None]:
    """Read a call that is a JSON object."""
    text = yield from bracketed(attempt.source, JSON)
    try:
        value: Any = read_json(text) if text else None
    except ValueError:
        return None
    return call_of(value, keyed=keyed, complete=complete)


def _python_call(attempt: Attempt) -> Scan[CallRead | None]:
    """Read a call as Python writes it, with keyword arguments that are values."""
    source = attempt.source
    called = yield from within(source, _DOTTED, LONGEST_NAME)
    yield from space(source)
    if (yield from peek(source)) != "(":
        return None
    text = yield from bracketed(source, PYTHON_SPANS)
    if text is None:
        return None
    try:
        return CallRead(called, _keywords(text))
    except LiteralError:
        return None


def _keywords(text: str) -> dict[str, Any]:
    """Return the keyword arguments in `(a=1, b='x')`.

    Raises:
        LiteralError: They are anything else.
    """
    arguments: dict[str, Any] = {}
    at = 1
    if not text[1:-1].strip():
        return arguments
    while at < len(text):
        key = _KEYWORD.match(text, at)
        if key is None:
            raise LiteralError(text[at : at + 40])
        arguments[key.group(1)], at = read_literal(text, key.end(), PYTHON)
        between = _BETWEEN.match(text, at)
        if between is None:
            raise LiteralError(text[at : at + 40])
        at = between.end()
        if between.group(1) == ")" or not text[at:-1].strip():
            break
    return arguments
