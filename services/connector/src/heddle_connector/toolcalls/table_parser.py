"""A parser for each format in the table."""

import re
from collections.abc import Callable
from functools import lru_cache

from heddle_connector.toolcalls.brackets import FIELDS as FIELD_SPANS
from heddle_connector.toolcalls.brackets import bracketed
from heddle_connector.toolcalls.call_sequence import sequence
from heddle_connector.toolcalls.channel_messages import header
from heddle_connector.toolcalls.events import CallRead
from heddle_connector.toolcalls.formats import Format, suffixed
from heddle_connector.toolcalls.grammars import FIELDS, LiteralError
from heddle_connector.toolcalls.json_calls import json_object
from heddle_connector.toolcalls.literals import read_literal
from heddle_connector.toolcalls.names import MAX_NAME_LENGTH, attributes, name, without_number
from heddle_connector.toolcalls.parse_context import ParseContext
from heddle_connector.toolcalls.scanners import Scan, literal, space, within
from heddle_connector.toolcalls.stop_strings import alternatives
from heddle_connector.toolcalls.tagged_arguments import TaggedArgumentsParser
from heddle_connector.toolcalls.xml_arguments import elements

_PLACEHOLDER = re.compile(r"\{(\w*)\}")
_HEADER = r"\s*+(?:\Z|[tj]|<(?:\Z|\|(?:\Z|[cm])))"
_SHAPES = {
    **dict.fromkeys(("calls", "keyed"), r"[\[{]"),
    **dict.fromkeys(("arguments", "fields"), r"\{"),
    **dict.fromkeys(("elements", ""), ""),
    "python": r"[\[{\w]",
    "wrapped": "<",
    "attributes": "[^<>]*+",
    "recipient": r"[\w.\-:]++" + _HEADER,
    **dict.fromkeys(("role", "channel"), r"[\w.\-:]*+" + _HEADER),
    **dict.fromkeys(("suffixed_section", "suffixed_call"), r"[\w.\-]++(?:\Z|>)"),
}
"""Patterns for the beginnings of the placeholders."""
_WRAPPED = ("<function=", "<function name=", "<tool_call>", "<invoke")
_SUFFIX = re.compile(r"[\w.\-]*+")
_wraps = re.compile(rf"\s*+(?={alternatives(_WRAPPED)})").match


class TableParser:
    """Parses calls of one format after its opener."""

    def __init__(self, format_: Format) -> None:
        parts = _PLACEHOLDER.split(format_.head)
        self.format = format_
        self.opener = parts[0]
        """The text before the first placeholder."""
        self._steps = list(zip(parts[1::2], parts[2::2], strict=True))
        self.outlook = _outlook(self._steps, format_)
        """A cheap pattern that rejects most text that cannot follow the opener."""
        self.may_follow = re.compile(self.outlook).match
        self._tags = TaggedArgumentsParser(format_, self.opener) if format_.tags else None
        self.wraps = _wraps if self._steps[0][0] == "wrapped" else None
        """Finds the call that makes the opener a delimiter."""

    def read(self, context: ParseContext) -> Scan[bool]:
        """Read and emit calls; return whether the text has this format."""
        source = context.source
        tag: dict[str, str] = {}
        called = ""
        for hole, following in self._steps:
            if hole != "recipient" and not source.skip():
                yield from space(source)
            if hole in _LAST:
                if not following:
                    return (yield from _LAST[hole](context, called))
                return (yield from self._last(context, called, hole, following))
            if hole == "attributes":
                tag = yield from attributes(source)
                called = tag.get("name", tag.get("tool", ""))
            elif hole:
                text = yield from name(source, following)
                called = called if hole == "id" else text or ""
            if hole and not called:
                return False
            yield from space(source)
            if following and (yield from literal(source, (following,))) is None:
                return False
        return self._tags is not None and (yield from self._tags.read(context, called, tag))

    @staticmethod
    def _last(context: ParseContext, called: str, hole: str, following: str) -> Scan[bool]:
        """Read the last placeholder, and the text after it."""
        source = context.source
        read = yield from _LAST[hole](context, called)
        if read:
            yield from space(source)
            matched = yield from literal(source, (following,))
            if matched or source.position == len(source.text):
                context.consume()
        return read


def _outlook(steps: list[tuple[str, str]], format_: Format) -> str:
    """Return a pattern that matches whatever can follow the opener, and little else."""
    hole, following = steps[0]
    wide = following.startswith(">")
    name = r"[^<>{}\n]*+" if wide else r"[^\s<>()\[\]{}`|｜,;=]++"
    shape = _SHAPES.get(hole, name)
    if len(steps) > 1:
        after = _SHAPES.get(steps[1][0], r"\S")
    elif format_.tags:
        begins = {text[:2] for text in (format_.tags.open, *format_.ends)}
        after = f"(?:{alternatives(begins)}|[<]\\Z)"
    else:
        after = ""
    if wide:
        rest = rf"\s*+(?:\Z|(?<=/)>|>\s*+(?:\Z|{after}))"
    elif following:
        rest = rf"\s*+(?:\Z|{re.escape(following[0])})"
    elif format_.tags:
        rest = rf"\s*+(?:\Z|{after})"
    else:
        rest = ""
    blank = "" if hole == "recipient" else r"\s*+"
    return rf"{blank}(?:\Z|{shape}{rest})"


def _arguments(context: ParseContext, called: str) -> Scan[bool]:
    """Read a JSON object: the arguments of the function `called`."""
    source = context.source
    if not source.text.startswith("{", source.position):
        return False
    context.committed = True
    arguments = yield from json_object(source)
    if arguments is None:
        return False
    context.emit(CallRead(without_number(called, context.functions), arguments))
    return True


def _fields(context: ParseContext, called: str) -> Scan[bool]:
    """Read the arguments of the function `called` in Gemma's notation."""
    source = context.source
    if not source.text.startswith("{", source.position):
        return False
    context.committed = True
    text = yield from bracketed(source, FIELD_SPANS)
    try:
        arguments, end = read_literal(text, 0, FIELDS) if text else (None, 0)
    except LiteralError:
        return False
    if not isinstance(arguments, dict) or text is None or end != len(text):
        return False
    context.emit(CallRead(called, arguments))
    return True


def _wrapped(context: ParseContext, _called: str) -> Scan[bool]:
    """Return whether a call of another format follows. Consume nothing."""
    source = context.source
    matched = yield from literal(source, _WRAPPED)
    source.position -= len(matched or "")
    context.is_wrapper = matched is not None
    return context.is_wrapper


@lru_cache(maxsize=64)
def _suffixed(suffix: str) -> "TableParser":
    return TableParser(suffixed(suffix))


def _suffixed_calls(*, section: bool) -> Callable[[ParseContext, str], Scan[bool]]:
    """Return the parser for a section of calls with a suffix, or for one call."""

    def read(context: ParseContext, _called: str) -> Scan[bool]:
        source = context.source
        suffix = yield from within(source, _SUFFIX, MAX_NAME_LENGTH)
        if (yield from literal(source, (">",))) is None:
            return False
        parser = _suffixed(suffix)
        if not section:
            return (yield from parser.read(context))
        while True:
            yield from space(source)
            matched = yield from literal(source, (parser.opener, *parser.format.closers))
            if matched != parser.opener:
                if matched:
                    context.consume()
                return bool(context.count and (matched or source.at_end()))
            if not (yield from parser.read(context)):
                return False

    return read


_LAST: dict[str, Callable[[ParseContext, str], Scan[bool]]] = {
    "arguments": _arguments,
    "calls": lambda context, _: sequence(context),
    "keyed": lambda context, _: sequence(context, keyed=True),
    "python": lambda context, _: sequence(context, python=True),
    "fields": _fields,
    "elements": elements,
    "channel": header("<|channel|>"),
    "role": header("role"),
    "recipient": header("to="),
    "wrapped": _wrapped,
    "suffixed_section": _suffixed_calls(section=True),
    "suffixed_call": _suffixed_calls(section=False),
}
