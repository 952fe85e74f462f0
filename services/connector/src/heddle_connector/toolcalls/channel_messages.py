"""Messages whose headers say whom they are for: a function, the person, or the model itself."""

import re
from collections.abc import Callable

from heddle_connector.toolcalls.brackets import JSON, bracketed
from heddle_connector.toolcalls.events import CallRead
from heddle_connector.toolcalls.json_calls import read_json
from heddle_connector.toolcalls.names import LONGEST_NAME, without_number
from heddle_connector.toolcalls.parse_context import Attempt
from heddle_connector.toolcalls.scanners import Scan, literal, peek, space, until, within

END = re.compile(r"<\|(?:end|call|return|eom|eot)\|>")
LONGEST_END = len("<|return|>")

_WORD = re.compile(r"[\w.\-:]*+")
_PERSON = ("user", "commentary", "assistant", "all")
_PARTS = ("to=", "<|channel|>", "<|constrain|>", "<|message|>")


def header(first: str) -> Callable[[Attempt, str], Scan[bool]]:
    """Return a reader of a header of which the part `first` has begun, and of a call after it."""

    def read(attempt: Attempt, _called: str) -> Scan[bool]:
        source = attempt.source
        parts = {}
        part: str | None = first
        while part != "<|message|>":
            if part is None:
                return False
            parts[part] = yield from within(source, _WORD, LONGEST_NAME)
            if part == "to=" and not parts[part]:
                return False
            yield from space(source)
            if part == "<|channel|>" and (yield from literal(source, ("json",))):
                yield from space(source)
            part = yield from literal(source, _PARTS)
        recipient = parts.get("to=", "")
        if recipient == "self" or (not recipient and parts.get("<|channel|>") == "analysis"):
            attempt.reasons = True
            return True
        if not recipient or recipient in _PERSON:
            attempt.speaks = True
            return True
        return (yield from _body(attempt, recipient))

    return read


def _body(attempt: Attempt, recipient: str) -> Scan[bool]:
    """Read a message for a function; what is neither JSON nor marked as a call is left out."""
    source = attempt.source
    attempt.committed = True
    yield from space(source)
    character = yield from peek(source)
    if character == "<":
        return True
    if character != "{":
        yield from until(source, END, LONGEST_END)
        source.keep()
        return True
    text = yield from bracketed(source, JSON)
    try:
        arguments = read_json(text) if text else None
    except ValueError:
        return False
    if not isinstance(arguments, dict):
        return False
    attempt.found(CallRead(without_number(recipient, attempt.functions), arguments))
    return True
