"""Calls that are written as JSON objects."""

import json
import math
from typing import Any

from heddle_connector.toolcalls.brackets import JSON, bracketed, shallow
from heddle_connector.toolcalls.events import CallRead
from heddle_connector.toolcalls.scanners import Scan, peek
from heddle_connector.toolcalls.source import Source

NAMES = ("name", "tool_name", "function", "tool")
ARGUMENTS = ("arguments", "parameters", "args", "params", "input")
_MEMBERS = frozenset((*NAMES, "id", "tool_call_id", "index", "type"))
"""The members of a call without arguments. Others could be arguments under another name."""


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is no JSON number")
    return value


def _no_constant(text: str) -> Any:  # noqa: ANN401 - returns never
    raise ValueError(f"{text} is no JSON value")


# Line ends inside of strings are accepted: models write them.
_decoder = json.JSONDecoder(strict=False, parse_float=_finite, parse_constant=_no_constant)


def read_json(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value of a JSON text whose numbers are finite and which is not nested too deeply.

    Raises:
        ValueError: It is none, or one that Python cannot hold.
    """
    if not shallow(text, JSON):
        raise ValueError("The text is nested too deeply.")
    return _decoder.decode(text)


def json_object(source: Source) -> Scan[dict[str, Any] | None]:
    """Take a JSON object; None if the text at the position is none."""
    if (yield from peek(source)) != "{":
        return None
    text = yield from bracketed(source, JSON)
    try:
        value = read_json(text) if text else None
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def call_of(value: Any, *, keyed: bool = False, complete: bool = False) -> CallRead | None:  # noqa: ANN401
    """Return the call that an object describes, None if it describes none.

    Args:
        value: Any JSON value.
        keyed: Whether `{"f": {"a": 1}}` is a call of f as well.
        complete: Whether the arguments must be there, and be an object or the text of one.
    """
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("function"), dict):  # as in OpenAI's messages
        value = value["function"]
    name = next((value[key] for key in NAMES if isinstance(value.get(key), str)), None)
    if name is None and keyed and len(value) == 1:
        ((name, arguments),) = value.items()
        return CallRead(name, arguments) if name and isinstance(arguments, dict) else None
    if not name:
        return None
    key = next((key for key in ARGUMENTS if key in value), None)
    if key is None:
        return None if complete or not _MEMBERS.issuperset(value) else CallRead(name, {})
    arguments = arguments_of(value[key])
    if arguments is None or (complete and value[key] in (None, "")):
        return None
    return CallRead(name, arguments)


def arguments_of(value: Any) -> dict[str, Any] | None:  # noqa: ANN401 - any JSON value
    """Return the arguments that a value stands for: an object, or the JSON text of one."""
    if isinstance(value, str) and value.strip():
        try:
            value = read_json(value)
        except ValueError:
            return None
    if isinstance(value, dict):
        return value
    return {} if value is None or value == "" else None
