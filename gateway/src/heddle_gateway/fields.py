"""Reading members of a request's body, each with a complaint that names its place."""

from typing import Any

from heddle_gateway.json_text import Place


def text(value: object, place: Place, *, empty: bool = True) -> str:
    """Return a string."""
    if not isinstance(value, str):
        raise place.wrong("must be a string")
    if not value and not empty:
        raise place.wrong("must not be empty")
    return value


def number(value: object, place: Place, low: float, high: float) -> float:
    """Return a number from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise place.wrong(f"must be a number from {low:g} to {high:g}")
    return float(value)


def whole(value: object, place: Place, low: int, high: int) -> int:
    """Return a whole number from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise place.wrong(f"must be a whole number from {low} to {high}")
    return value


def flag(value: object, place: Place) -> bool:
    """Return a truth value."""
    if not isinstance(value, bool):
        raise place.wrong("must be true or false")
    return value


def items(value: object, place: Place, most: int) -> list[Any]:
    """Return an array of at most `most` items."""
    if not isinstance(value, list):
        raise place.wrong("must be an array")
    if len(value) > most:
        raise place.wrong(f"must have at most {most} items")
    return value


def mapping(value: object, place: Place) -> dict[str, Any]:
    """Return an object."""
    if not isinstance(value, dict):
        raise place.wrong("must be an object")
    return value
