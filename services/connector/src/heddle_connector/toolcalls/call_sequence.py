"""Calls one after another: JSON objects or Python's calls, alone, in a list, or separated."""

import re
from typing import Any

from heddle_connector.toolcalls.brackets import PYTHON as PYTHON_SPANS
from heddle_connector.toolcalls.brackets import bracketed
from heddle_connector.toolcalls.events import CallRead
from heddle_connector.toolcalls.grammars import PYTHON, LiteralError
from heddle_connector.toolcalls.json_calls import call_of, json_object
from heddle_connector.toolcalls.literals import read_literal
from heddle_connector.toolcalls.names import MAX_NAME_LENGTH
from heddle_connector.toolcalls.parse_context import ParseContext
from heddle_connector.toolcalls.scanners import Scan, peek, space, within

_DOTTED = re.compile(r"[\w.\-]*+")
_KEYWORD = re.compile(r"\s*+([^\W\d]\w*+)\s*+=(?!=)")
_BETWEEN = re.compile(r"\s*+([,)])")
_MAX_SEPARATORS = 4  # between calls: `}`, `]`, `;` and `,` where they are too many


def sequence(
    context: ParseContext, *, keyed: bool = False, python: bool = False, undelimited: bool = False
) -> Scan[bool]:
    """Read consecutive calls, and emit each as soon as it is complete.

    Args:
        context: The text and the receiver of calls.
        keyed: Whether `{"f": {"a": 1}}` is a call of f.
        python: Whether `f(a=1)` is a call of f.
        undelimited: Whether there is no delimiter before the calls. Then they must have arguments,
            and call known functions if any are known; in a list only the first call must.

    Returns:
        Whether there was a call, or an empty list after a delimiter.
    """
    source = context.source
    in_list = False
    separators = 0
    while True:
        yield from space(source)
        character = yield from peek(source)
        if character == "{":
            context.committed = not undelimited
            value = yield from json_object(source)
            call = call_of(value, keyed=keyed, complete=undelimited)
        elif python and (character == "_" or character.isalpha()):
            call = yield from _python_call(context)
        elif character == "[" and not in_list and not separators:
            in_list = True
            source.take(source.position + 1)
            continue
        elif character == "]" and in_list:
            source.take(source.position + 1)
            context.consume()
            return context.count > 0 or not undelimited
        elif character and character in ",;}]" and context.count and separators < _MAX_SEPARATORS:
            separators += 1
            source.take(source.position + 1)
            continue
        else:
            return context.count > 0
        if call is None:
            return False
        strict = undelimited and not (in_list and context.count)
        if strict and not context.functions.plausible(call.name):
            return False
        separators = 0
        context.emit(call)


def _python_call(context: ParseContext) -> Scan[CallRead | None]:
    """Read a call as Python writes it, with keyword arguments that are values."""
    source = context.source
    called = yield from within(source, _DOTTED, MAX_NAME_LENGTH)
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
