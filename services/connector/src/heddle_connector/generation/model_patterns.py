"""What a setting says of a model, by patterns of `connector/model`."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TypeVar

T = TypeVar("T")


def said_of(model: str, by_pattern: Mapping[str, T]) -> T | None:
    """Return what the first pattern says that fits; None if none does.

    Args:
        model: `connector/model`.
        by_pattern: What patterns with `*` and `?` say.
    """
    return next((said for p, said in by_pattern.items() if fnmatchcase(model, p)), None)
