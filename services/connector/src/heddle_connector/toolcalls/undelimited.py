"""Parses calls without delimiters: JSON, a list of Python calls, a name and an object.

They are looked for where a sentence does not put such things, and only if they begin as calls do.
"""

import re

from heddle_connector.toolcalls.call_sequence import sequence
from heddle_connector.toolcalls.events import CallRead
from heddle_connector.toolcalls.functions import Functions
from heddle_connector.toolcalls.json_calls import ARGUMENTS, NAMES, json_object
from heddle_connector.toolcalls.names import MAX_NAME_LENGTH
from heddle_connector.toolcalls.parse_context import ParseContext
from heddle_connector.toolcalls.scanners import Scan, literal, peek, space, until, within
from heddle_connector.toolcalls.source import Source
from heddle_connector.toolcalls.stop_strings import StopStrings

_KEYS = "|".join((*NAMES, *ARGUMENTS, "id", "type", "tool_call_id", "index"))
_JSON_BEGINS = re.compile(rf'\[?\s{{0,64}}\{{\s{{0,64}}"(?:{_KEYS})"')
_JSON_NAME = re.compile(rf'"(?:{"|".join(NAMES)})"\s*+:\s*+"([^"\\]*+)("?)')
_JSON_MAY_BEGIN = re.compile(r'\[?\s{0,64}(?:\{\s{0,64}(?:"\w{0,12})?)?')
_PYTHON_BEGINS = re.compile(
    r"\[\s{0,64}([^\W\d][\w.\-]{0,64})\(\s{0,64}(?:\)|[^\W\d]\w{0,64}\s{0,8}=)"
)
_PYTHON_MAY_BEGIN = re.compile(
    r"\[\s{0,64}(?:[^\W\d][\w.\-]{0,64}(?:\(\s{0,64}(?:[^\W\d]\w{0,64}\s{0,8})?)?)?"
)
_CODE_BEGINS = re.compile(r"\s*+\[?\s*+(?:print\()?([^\W\d][\w.\-]*+)\(")
_PREFIX = re.compile(r"\b(?:default_api|tools|functions)\.(?=[\w.]+\()")
_PRINTED = re.compile(r"^[ \t]*print\((.*)\)[ \t]*$", re.MULTILINE)
_FENCE_END = StopStrings(("```",))
_NAME = re.compile(r"[\w.\-]*+")
_INFO = re.compile(r"[^\n`]*+")
_MAX_INFO_LENGTH = 40


def begins(source: Source, whole: re.Pattern[str], part: re.Pattern[str]) -> Scan[bool]:
    """Return whether `whole` matches next; wait while `part` matches. Consume nothing."""
    while not whole.match(source.text, source.position):
        if source.ended or not part.fullmatch(source.text, source.position):
            return False
        yield
    return True


def json_begins(source: Source) -> Scan[bool]:
    """Return whether a call as a JSON object, or a list of them, is likely to begin here."""
    return (yield from begins(source, _JSON_BEGINS, _JSON_MAY_BEGIN))


def python_begins(source: Source, functions: Functions, *, first: bool) -> Scan[bool]:
    """Return whether a list of calls in Python's syntax is likely to begin here.

    Args:
        source: Where to look.
        functions: Its name must be known, if any are.
        first: Whether nothing was said before. Else the functions must be known.
    """
    if not (yield from begins(source, _PYTHON_BEGINS, _PYTHON_MAY_BEGIN)):
        return False
    match = _PYTHON_BEGINS.match(source.text, source.position)
    return match is not None and (match.group(1) in functions or (first and not functions))


def calls_known(text: str, functions: Functions) -> bool:
    """Return whether `text` is likely to be the beginning of a call of a known function."""
    if match := _JSON_NAME.search(text):
        name, closed = match.groups()
        return name in functions if closed else any(n.startswith(name) for n in functions.names)
    if match := _PYTHON_BEGINS.match(text):
        return match[1] in functions
    name, line_end, rest = text.lstrip().partition("\n")
    return bool(line_end) and name in functions and rest.lstrip().startswith("{")


def json_calls(context: ParseContext) -> Scan[bool]:
    """Read calls that are JSON."""
    return (yield from sequence(context, undelimited=True))


def python_calls(context: ParseContext) -> Scan[bool]:
    """Read calls in a list as Python writes it, all or none."""
    source = context.source
    calls: list[CallRead] = []
    inside = ParseContext(source, context.functions, calls.append, consumes=False)
    read = yield from sequence(inside, python=True, undelimited=True)
    if not read or source.before() != "]":
        return False
    for call in calls:
        context.emit(call)
    return True


def named_object(context: ParseContext) -> Scan[bool]:
    """Read a known name on a line of its own, and an object: the arguments.

    If no names are known, any will do, but nothing may follow.
    """
    source = context.source
    known = bool(context.functions)
    if known:
        named = yield from literal(source, [f"{name}\n" for name in context.functions.names])
    else:
        named = yield from within(source, _NAME, MAX_NAME_LENGTH)
    if not named or (not known and (yield from literal(source, ("\n",))) is None):
        return False
    yield from space(source)
    arguments = yield from json_object(source)
    if arguments is None:
        return False
    if not known:
        yield from space(source)
        if (yield from peek(source)):
            return False
    context.emit(CallRead(named.removesuffix("\n"), arguments))
    return True


def tool_code(source: Source, functions: Functions) -> Scan[tuple[list[CallRead], str]]:
    """Take the code of a fence, and return its calls and the code. All of it must be calls."""
    code, _ = yield from until(source, _FENCE_END)
    calls: list[CallRead] = []
    info, _, lines = code.partition("\n")
    inside = Source()
    inside.feed(_PRINTED.sub(r"\1", _PREFIX.sub("", lines)))
    inside.end()
    context = ParseContext(inside, functions, calls.append, consumes=False)
    is_complete = yield from sequence(context, python=True, undelimited=True)
    inside.skip()
    known = functions and all(call.name in functions for call in calls)
    is_code = is_complete and known and not info.strip()
    return (calls if is_code and inside.at_end() else []), code


def begins_tool_code(code: str, functions: Functions) -> bool:
    """Return whether the code is likely to begin with a call of a known function."""
    match = _CODE_BEGINS.match(_PREFIX.sub("", code))
    return match is not None and match[1] in functions


def fenced_calls(source: Source, functions: Functions) -> Scan[list[CallRead]]:
    """Take code fences up to the end of the message and return their calls.

    There are none if anything else is in the message: then the fences are examples.
    """
    calls: list[CallRead] = []
    while True:
        if (yield from literal(source, ("```",))) is None:
            return []
        yield from within(source, _INFO, _MAX_INFO_LENGTH)
        if (yield from literal(source, ("\n", "\r\n"))) is None:
            return []
        yield from space(source)
        if not (yield from json_begins(source)):
            return []
        inside = ParseContext(source, functions, calls.append, consumes=False)
        if not (yield from sequence(inside, undelimited=True)):
            return []
        yield from space(source)
        yield from literal(source, ("```",))
        yield from space(source)
        if not (yield from peek(source)):
            return calls
