"""Conditions on the documents of a search."""

from dataclasses import dataclass
from typing import Literal

Operator = Literal[
    "equal",
    "not_equal",
    "less",
    "less_or_equal",
    "greater",
    "greater_or_equal",
    "in",
    "not_in",
]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A condition on one attribute of a document."""

    key: str
    """A key of its metadata, or `document`, `document_id`, `title`, `media_type`, `uri`. A document
    without the key matches nothing but `not_equal` and `not_in`."""
    operator: Operator
    """An order reads both sides as numbers if both are numbers, else as text."""
    values: tuple[str, ...]
    """One, or several for `in` and `not_in`."""


@dataclass(frozen=True, slots=True)
class AllOf:
    """All of these hold."""

    filters: "tuple[Filter, ...]"


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one of these holds."""

    filters: "tuple[Filter, ...]"


Filter = Comparison | AllOf | AnyOf
"""A condition on documents."""
