"""Parses messages with a header that names the recipient: a function, the user, or the model."""

import re
from collections.abc import Callable

from heddle_connector.toolcalls.events import CallRead
from heddle_connector.toolcalls.json_calls import json_object
from heddle_connector.toolcalls.names import MAX_NAME_LENGTH, without_number
from heddle_connector.toolcalls.parse_context import ParseContext
from heddle_connector.toolcalls.scanners import Scan, literal, peek, space, within

_WORD = re.compile(r"[\w.\-:]*+")
_PERSON = ("user", "commentary", "assistant", "all")
_PARTS = ("to=", "<|channel|>", "<|constrain|>", "<|message|>")


def header(first: str) -> Callable[[ParseContext, str], Scan[bool]]:
    """Return a reader of a header of which the part `first` has begun, and of a call after it."""

    def read(context: ParseContext, _called: str) -> Scan[bool]:
        source = context.source
        parts = {}
        part: str | None = first
        while part != "<|message|>":
            if part is None:
                return False
            parts[part] = yield from within(source, _WORD, MAX_NAME_LENGTH)
            if part == "to=" and not parts[part]:
                return False
            yield from space(source)
            if part == "<|channel|>" and (yield from literal(source, ("json",))):
                yield from space(source)
            part = yield from literal(source, _PARTS)
        recipient = parts.get("to=", "")
        if recipient == "self" or (not recipient and parts.get("<|channel|>") == "analysis"):
            context.is_reasoning = True
            return True
        if not recipient or recipient in _PERSON:
            context.is_content = True
            return True
        return context.reads_calls and (yield from _body(context, recipient))

    return read


def _body(context: ParseContext, recipient: str) -> Scan[bool]:
    """Read a message for a function. Text that is neither JSON nor a delimited call is content."""
    source = context.source
    context.committed = True
    yield from space(source)
    character = yield from peek(source)
    if character == "<":
        context.is_wrapper = True
        return True
    if character != "{":
        context.is_content = bool(character)
        return context.is_content
    arguments = yield from json_object(source)
    if arguments is None:
        return False
    context.emit(CallRead(without_number(recipient, context.functions), arguments))
    return True
