"""Settings that apply to models by patterns of `connector/model`."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TypeVar

T = TypeVar("T")


def first_match(model: str, values: Mapping[str, T]) -> T | None:
    """Return the value of the first pattern that matches, None if no pattern does.

    Args:
        model: `connector/model`.
        values: The values by patterns with `*` and `?`.
    """
    return next((value for pattern, value in values.items() if fnmatchcase(model, pattern)), None)
