"""How many cases tests run: a sample with `make test`, all with `make test-all`.

The environment variable HYPOTHESIS_PROFILE names one of three profiles: `reduced` (the default),
`full`, and `nightly`.
"""

import os
from collections.abc import Iterable
from itertools import islice
from typing import Any

import pytest
from hypothesis import settings

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "reduced")
_FACTOR = {"reduced": 0.2, "full": 1, "nightly": 50}[PROFILE]
_DEFAULT_EXAMPLES = 100


def repetitions(count: int) -> int:
    """Return how often to do what the profile `full` does `count` times. At least once."""
    return max(1, round(count * _FACTOR))


def examples(count: int = _DEFAULT_EXAMPLES, **options: Any) -> settings:
    """Return settings for a property test of `count` examples in the profile `full`.

    No example has a time limit: a busy machine would exceed it.
    """
    return settings(max_examples=repetitions(count), deadline=None, **options)


def sampled(cases: Iterable[Any], count: int) -> list[Any]:
    """Return `cases` for `pytest.mark.parametrize`, all but about `count` marked `exhaustive`.

    The unmarked cases are spread evenly over the list, so that each region of a table is sampled.
    """
    values = list(cases)
    chosen = set(islice(range(0, len(values), max(1, len(values) // count)), count))
    return [value if index in chosen else _exhaustive(value) for index, value in enumerate(values)]


def mostly_on(fixture: str, environment: str, *others: str) -> pytest.MarkDecorator:
    """Return a mark that runs a long test in one environment, and in `others` with test-all."""
    environments = [environment, *map(_exhaustive, others)]
    return pytest.mark.parametrize(fixture, environments, indirect=True)


def _exhaustive(value: Any) -> Any:
    mark = pytest.mark.exhaustive
    if hasattr(value, "marks"):  # a pytest.param
        return pytest.param(*value.values, marks=(*value.marks, mark), id=value.id)
    return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=mark)
