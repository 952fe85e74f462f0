"""Reading members of a request's body, each with a complaint that names its place.

A value's place is told as one above it and the steps from there, because it is needed for
complaints only.
"""

from collections.abc import Collection
from typing import Any

from google.protobuf.struct_pb2 import Struct
from heddle_runtime.struct_codec import to_struct

from heddle_gateway.http.json_text import Place

DEEPEST = 32
"""Levels of a tool's configuration. A level costs three of the 100 nested messages that protobuf
reads."""


def text(value: object, place: Place, *steps: str | int, empty: bool = True) -> str:
    """Return a string."""
    if not isinstance(value, str):
        raise place.at(*steps).wrong("must be a string")
    if not value and not empty:
        raise place.at(*steps).wrong("must not be empty")
    return value


def number(value: object, place: Place, *steps: str | int, low: float, high: float) -> float:
    """Return a number from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise place.at(*steps).wrong(f"must be a number from {low:g} to {high:g}")
    return float(value)


def whole(value: object, place: Place, *steps: str | int, low: int, high: int) -> int:
    """Return a whole number from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise place.at(*steps).wrong(f"must be a whole number from {low} to {high}")
    return value


def flag(value: object, place: Place, *steps: str | int) -> bool:
    """Return a truth value."""
    if not isinstance(value, bool):
        raise place.at(*steps).wrong("must be true or false")
    return value


def items(value: object, place: Place, *steps: str | int, most: int) -> list[Any]:
    """Return an array of at most `most` items."""
    if not isinstance(value, list):
        raise place.at(*steps).wrong("must be an array")
    if len(value) > most:
        raise place.at(*steps).wrong(f"must have at most {most} items")
    return value


def mapping(value: object, place: Place, *steps: str | int) -> dict[str, Any]:
    """Return an object."""
    if not isinstance(value, dict):
        raise place.at(*steps).wrong("must be an object")
    return value


def choice(value: object, place: Place, *steps: str | int, among: Collection[str]) -> str:
    """Return one of the strings `among`."""
    if not isinstance(value, str) or value not in among:
        raise place.at(*steps).wrong(f"must be one of {', '.join(among)}")
    return value


def struct(value: object, place: Place, *steps: str | int) -> Struct:
    """Return an object of at most 32 levels, all its numbers exact."""
    found = mapping(value, place, *steps)
    if not _is_shallow(found):
        raise place.at(*steps).wrong(f"is nested more than {DEEPEST} levels deep")
    try:
        return to_struct(found)
    except ValueError:
        raise place.at(*steps).wrong("has a number that is too large") from None


def _is_shallow(value: object) -> bool:
    level: list[Any] = [value]
    for _ in range(DEEPEST + 1):
        level = [item for each in level for item in _items(each)]
    return not level


def _items(value: object) -> Collection[Any]:
    match value:
        case dict():
            return value.values()
        case list():
            return value
        case _:
            return ()
