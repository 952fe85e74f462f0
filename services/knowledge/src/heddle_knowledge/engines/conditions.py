"""Conditions for rows, independent of the engine: small trees that each engine writes in its SQL.

Texts of users enter them as values only. `labels` is the column that holds a document's metadata,
see `label`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

How = Literal["=", "!=", "<", "<=", ">", ">="]
Scalar = str | int

LABELS = "labels"
"""The column of metadata: a list of one text for each entry, and a first one that is empty."""
_CUT_AT = 500
"""Characters: PostgreSQL's index of a list takes texts of at most 2,712 bytes, key included."""
BETWEEN_ENTRIES = "\x1e"
BETWEEN_KEY_AND_VALUE = "\x1f"
NUMBER = "^[+-]?[0-9]{1,15}([.][0-9]{1,15})?([eE][+-]?[0-9]{1,2})?$"
"""The pattern of numbers, the same for every engine; a double can hold them."""

_NUMBER = re.compile(NUMBER)
_RESERVED = str.maketrans({"\0": "\x1a", BETWEEN_ENTRIES: "\x1a", BETWEEN_KEY_AND_VALUE: "\x1a"})


@dataclass(frozen=True, slots=True)
class Compare:
    """A column beside a value of its own type; texts by their UTF-8 bytes."""

    column: str
    how: How
    value: Scalar


@dataclass(frozen=True, slots=True)
class In:
    """A column has one of these values, of which there is at least one."""

    column: str
    values: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Tag:
    """The metadata has one of these values under a key; there is at least one."""

    key: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ordered:
    """A text beside another: as numbers if both are (see `NUMBER`), else by their UTF-8 bytes.

    Attributes:
        column: A column of texts, or `labels` for an entry of the metadata.
        key: Which entry; rows without it do not match.
        how: Not `=` or `!=`.
        value: The other text.
    """

    column: str
    key: str
    how: How
    value: str


@dataclass(frozen=True, slots=True)
class Not:
    """The condition does not hold."""

    condition: "Condition"


@dataclass(frozen=True, slots=True)
class All:
    """All of the conditions hold; with none, every row matches."""

    conditions: "tuple[Condition, ...]"


@dataclass(frozen=True, slots=True)
class Some:
    """At least one of the conditions holds; there is at least one."""

    conditions: "tuple[Condition, ...]"


Condition = Compare | In | Tag | Ordered | Not | All | Some
EVERYTHING = All(())


def both(one: Condition, other: Condition) -> Condition:
    """Return the condition that is true if both conditions are true."""
    if one == EVERYTHING:
        return other
    return one if other == EVERYTHING else All((one, other))


def labels(metadata: Mapping[str, str]) -> list[str]:
    """Write metadata for the column `labels`; never empty, which engines do not like."""
    return ["", *(label(key, value) for key, value in sorted(metadata.items()))]


def label(key: str, value: str) -> str:
    """Write one entry; the two marks that divide are no part of a key or value that is kept.

    Of a value of more than 500 characters it has the beginning and a digest.
    """
    if len(value) > _CUT_AT:
        digest = sha256(value.encode(errors="surrogatepass")).hexdigest()
        value = f"{value[:_CUT_AT]}…{digest}"
    return key.translate(_RESERVED) + BETWEEN_KEY_AND_VALUE + value.translate(_RESERVED)


def label_start(key: str) -> str:
    """Write what the entry of a key begins with."""
    return key.translate(_RESERVED) + BETWEEN_KEY_AND_VALUE


def number(text: str) -> float | None:
    """Read a text as a number, if every engine would."""
    return float(text) if _NUMBER.match(text) and not text.endswith("\n") else None
