"""Settings that apply to models by patterns of `connector/model`."""

from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from typing import TypeVar

from pydantic import AfterValidator

T = TypeVar("T")


def first_match(model: str, values: Mapping[str, T]) -> T | None:
    """Return the value of the first pattern that matches, None if no pattern does.

    Args:
        model: `connector/model`.
        values: The values by patterns with `*` and `?`.
    """
    return next((value for pattern, value in values.items() if fnmatchcase(model, pattern)), None)


def one_of(names: Collection[str], kind: str) -> AfterValidator:
    """Return a validator of settings that accepts `names`, which are those of a `kind`."""

    def check(name: str) -> str:
        if name not in names:
            raise ValueError(f"There is no {kind} {name!r}; there are {', '.join(sorted(names))}.")
        return name

    return AfterValidator(check)
