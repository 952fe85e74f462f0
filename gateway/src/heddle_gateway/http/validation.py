"""Validation of single members of a JSON body, without models.

Chat completions use it, for speed, and so do members whose exact text is passed on. The location of
a member is passed in parts because only an error needs it.
"""

from collections.abc import Collection, Iterable
from typing import Any

from google.protobuf.struct_pb2 import Struct
from heddle_runtime.struct_codec import to_struct

from heddle_gateway.http.json_text import Place

MAX_LEVELS = 32
"""Levels of a tool's configuration. Each uses three of the 100 nested messages that protobuf
reads."""


def text(value: object, place: Place, *steps: str | int, empty: bool = True) -> str:
    """Return a string."""
    if not isinstance(value, str):
        raise place.at(*steps).invalid("must be a string")
    if not value and not empty:
        raise place.at(*steps).invalid("must not be empty")
    return value


def number(value: object, place: Place, *steps: str | int, low: float, high: float) -> float:
    """Return a number from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise place.at(*steps).invalid(f"must be a number from {low:g} to {high:g}")
    return float(value)


def whole(value: object, place: Place, *steps: str | int, low: int, high: int) -> int:
    """Return a whole number from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise place.at(*steps).invalid(f"must be a whole number from {low} to {high}")
    return value


def flag(value: object, place: Place, *steps: str | int) -> bool:
    """Return a boolean."""
    if not isinstance(value, bool):
        raise place.at(*steps).invalid("must be true or false")
    return value


def items(value: object, place: Place, *steps: str | int, max_items: int) -> list[Any]:
    """Return an array."""
    if not isinstance(value, list):
        raise place.at(*steps).invalid("must be an array")
    if len(value) > max_items:
        raise place.at(*steps).invalid(f"must have at most {max_items} items")
    return value


def mapping(value: object, place: Place, *steps: str | int) -> dict[str, Any]:
    """Return an object."""
    if not isinstance(value, dict):
        raise place.at(*steps).invalid("must be an object")
    return value


def choice(value: object, place: Place, *steps: str | int, options: Collection[str]) -> str:
    """Return one of the strings in `options`."""
    if not isinstance(value, str) or value not in options:
        raise place.at(*steps).invalid(f"must be one of {', '.join(options)}")
    return value


def struct(value: object, place: Place, *steps: str | int) -> Struct:
    """Return an object of at most 32 levels whose numbers are exact as doubles."""
    members = mapping(value, place, *steps)
    if not is_shallow(members):
        raise place.at(*steps).invalid(f"is nested more than {MAX_LEVELS} levels deep")
    try:
        return to_struct(members)
    except ValueError:
        raise place.at(*steps).invalid("has a number that is too large") from None


def is_shallow(value: object) -> bool:
    """Return whether a JSON value has at most `MAX_LEVELS` levels."""
    level: list[Any] = [value]
    for _ in range(MAX_LEVELS + 1):
        level = [item for each in level for item in _items(each)]
    return not level


def path_text(steps: Iterable[str | int]) -> str:
    """Return a path as OpenAI writes it, for example `messages[0].content`."""
    parts = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return "".join(parts).removeprefix(".")


def _items(value: object) -> Collection[Any]:
    match value:
        case dict():
            return value.values()
        case list():
            return value
        case _:
            return ()
