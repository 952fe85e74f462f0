"""One row of a LAMB database, whose columns may hold anything."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from heddle_conversion import MalformedMetadataError, parse
from heddle_conversion.identifiers import LAST_SECOND

_LARGEST = 2**63
_TRUE = frozenset({"1", "true", "t", "yes"})
UNREADABLE = "\N{REPLACEMENT CHARACTER}"
"""What stands for what is no text."""
Value = bytes | int | float | None


@dataclass(slots=True)
class LambRow:
    """The values of a row, by the names of the columns in today's schema."""

    values: Mapping[str, Value]
    """Text as bytes. A column that the database does not have is missing."""
    notes: list[str] = field(default_factory=list)
    """What a person should look at."""

    def text(self, name: str) -> str | None:
        """Return a text, byte for byte if it is one; None for NULL."""
        match self.values.get(name):
            case None:
                return None
            case bytes() as value:
                return self._decoded(name, value)
            case value:
                return str(value)

    def whole(self, name: str) -> int | None:
        """Return a whole number of 64 bits; None for anything else."""
        return whole_number(self.values.get(name))

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return a truth value, also of databases that write it as a word."""
        match self.values.get(name):
            case None:
                return default
            case bytes() as value:
                return value.decode(errors="replace").strip().lower() in _TRUE
            case value:
                return bool(value)

    def seconds(self, name: str) -> int | None:
        """Return a time in seconds since 1970; None if there is none."""
        match self.values.get(name):
            case bytes() as value if not value.isdigit():
                number = _date(value)
            case float() as value if 0 <= value <= LAST_SECOND:
                number = int(value)
            case _:
                number = self.whole(name)
        return number if number is not None and 0 <= number <= LAST_SECOND else None

    def untyped(self, name: str) -> str | int | float | None:
        """Return a number that JSON can write as a number, and anything else as a text."""
        value = self.values.get(name)
        if isinstance(value, float) and not math.isfinite(value):
            return str(value)
        return self.text(name) if isinstance(value, bytes) else value

    def _decoded(self, name: str, value: bytes) -> str:
        text = value.decode(errors="replace").replace("\0", UNREADABLE)
        if text.encode() != value:
            self.notes.append(f"{name} holds bytes that are no text; {UNREADABLE!r} replaces them.")
        return text


def whole_number(value: Value) -> int | None:
    """Return a whole number of 64 bits; None for anything else."""
    match value:
        case int():
            return value
        case float() if value.is_integer() and abs(value) < _LARGEST:
            return int(value)
        case bytes() if value.isdigit() and len(value) < len(str(_LARGEST)):
            return int(value)
        case _:
            return None


def settings_member(config: str | None, *path: str) -> object:
    """Return a member of the settings of an organisation, at any depth; None if it is missing."""
    try:
        value: object = parse(config)
    except MalformedMetadataError:
        return None
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _date(value: bytes) -> int | None:
    try:
        date = datetime.fromisoformat(value.decode())
        return int(date.replace(tzinfo=date.tzinfo or UTC).timestamp())
    except (ValueError, OverflowError):  # and bytes that are no text
        return None
