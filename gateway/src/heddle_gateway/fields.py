"""Reading members of a request's body, each with a complaint that names its place.

A value's place is told as one above it and the steps from there, because it is needed for
complaints only.
"""

from typing import Any

from heddle_gateway.json_text import Place


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
