"""Matches the patterns of untrusted JSON Schemas in bounded time."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from jsonschema_rs import Draft202012Validator, FancyRegexOptions, RegexOptions, ValidationError

_SMALL, _LARGE = 50_000, 4_000_000
"""Bytes of a compiled pattern. Matching may read all of them for each character of a text."""
_ENGINES = (
    # The first two need time that is linear in the text, whatever the pattern.
    (1_000_000, RegexOptions(size_limit=_SMALL, dfa_size_limit=_LARGE)),
    (5_000, RegexOptions(size_limit=_LARGE, dfa_size_limit=_LARGE)),
    # Lookarounds and references back can be quadratic.
    (5_000, FancyRegexOptions(backtrack_limit=10_000, size_limit=_LARGE)),
)
"""The engines, best first: the longest text in characters, and the options."""
NAMES = _ENGINES[0][1]
"""The engine for the patterns of `patternProperties`."""
_BUDGET = 0.25
"""CPU seconds of the thread, for all patterns of one check."""
_MAX_PATTERNS = 100


@dataclass(slots=True)
class Watch:
    """The cost of the patterns of one schema."""

    patterns: int = 0
    spent: float = 0.0


class PatternError(ValueError):
    """A pattern that is not supported; the message says why."""


@lru_cache(256)
def _matcher(pattern: str) -> tuple[int, Callable[[str], bool]]:
    for max_characters, options in _ENGINES:
        try:
            validator = Draft202012Validator({"pattern": pattern}, pattern_options=options)
        except ValidationError:
            continue
        return max_characters, validator.is_valid
    raise PatternError("is no pattern of ECMA-262, or too large a one")


def keyword(watch: Watch) -> type:
    """Return the keyword `pattern` for a schema, which enforces a budget for its patterns.

    A text does not match if it is longer than the engine of its pattern allows, or if the budget is
    spent.
    """

    class Pattern:
        def __init__(self, _schema: object, value: object, _place: object) -> None:
            watch.patterns += 1
            if watch.patterns > _MAX_PATTERNS:
                raise PatternError(f"is one of more than {_MAX_PATTERNS} patterns")
            self._longest, self._matches = _matcher(str(value))
            self._broken = f"must match the pattern {value}"

        def validate(self, instance: object) -> None:
            if not isinstance(instance, str):
                return
            if len(instance) > self._longest:
                raise ValueError(
                    f"must have at most {self._longest:,} characters, for the sake of its pattern"
                )
            if watch.spent > _BUDGET:
                raise ValueError("cannot be checked: the patterns of the schema take too long")
            before = time.thread_time()
            matches = self._matches(instance)
            watch.spent += time.thread_time() - before
            if not matches:
                raise ValueError(self._broken)

    return Pattern
