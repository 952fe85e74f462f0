"""How many cases tests run: a sample with `make test`, all with `make test-all`.

The environment variable HYPOTHESIS_PROFILE names one of three profiles: `reduced` (the default),
`full`, and `nightly`.
"""

import os
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import pytest
from hypothesis import settings

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "reduced")
_FACTOR = {"reduced": 0.1, "full": 1, "nightly": 50}[PROFILE]
_SHARE_OF_LONG = {"reduced": 0.02, "full": 0.15, "nightly": 1}[PROFILE]
_DEFAULT_EXAMPLES = 100
EXHAUSTIVE = (pytest.mark.exhaustive,)
NIGHTLY = EXHAUSTIVE if PROFILE == "nightly" else (*EXHAUSTIVE, pytest.mark.nightly)
"""Marks of what `make test-all` runs in the profile `nightly` only."""


def repetitions(count: int) -> int:
    """Return how often to do what the profile `full` does `count` times. At least once."""
    return max(1, round(count * _FACTOR))


def long_repetitions(count: int) -> int:
    """Return how often to do what the profile `nightly` does `count` times, which takes minutes."""
    return max(1, round(count * _SHARE_OF_LONG))


def examples(
    count: int = _DEFAULT_EXAMPLES, *, reduced: int | None = None, **options: Any
) -> settings:
    """Return settings for a property test of `count` examples in the profile `full`.

    No example has a time limit: a busy machine would exceed it.

    Args:
        count: How many.
        reduced: How many in the profile `reduced`, if its share of `count` is too many.
        options: Other settings.
    """
    number = repetitions(count)
    if PROFILE == "reduced" and reduced is not None:
        number = reduced
    return settings(max_examples=number, deadline=None, **options)


def sampled(cases: Iterable[Any], count: int, full: int | None = None) -> list[Any]:
    """Return `cases` for `pytest.mark.parametrize`, all but about `count` marked `exhaustive`.

    The unmarked cases are spread evenly over the list, so that each region of a table is sampled.

    Args:
        cases: The values, or `pytest.param`s.
        count: How many run in every profile.
        full: About how many run with `make test-all`, if only the profile `nightly` runs all.
    """
    values = list(cases)
    chosen = _spread(len(values), count)
    bounded = _spread(len(values), len(values) if full is None else full)
    return [
        value if index in chosen else _marked(value, EXHAUSTIVE if index in bounded else NIGHTLY)
        for index, value in enumerate(values)
    ]


def _spread(length: int, count: int) -> set[int]:
    return set(islice(range(0, length, max(1, length // count)), count))


def mostly_on(fixture: str, environment: str, *others: str) -> pytest.MarkDecorator:
    """Return a mark that runs a long test in one environment, and in `others` with test-all."""
    environments = [environment, *(_marked(each, EXHAUSTIVE) for each in others)]
    return pytest.mark.parametrize(fixture, environments, indirect=True)


def _marked(value: Any, marks: Sequence[pytest.MarkDecorator]) -> Any:
    if hasattr(value, "marks"):  # a pytest.param
        return pytest.param(*value.values, marks=(*value.marks, *marks), id=value.id)
    return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=marks)
