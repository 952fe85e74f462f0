"""Bringing metadata from the version it has to the newest one, a pure step per version."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from heddle_conversion.columns import LegacyColumns, Notes
from heddle_conversion.errors import MalformedMetadataError, NewerFormatError
from heddle_conversion.json_text import checked
from heddle_conversion.version_1 import to_version_2

VERSION_KEY = "_format_version"
Step = Callable[[Mapping[str, Any], LegacyColumns], tuple[dict[str, Any], Notes]]
STEPS: Mapping[int, Step] = MappingProxyType({1: to_version_2})
"""For each version, the conversion to the next one. It does not change its arguments; the caller
writes the new version down."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """Metadata of the newest version, and how it came to be."""

    metadata: dict[str, Any]
    from_version: int
    to_version: int
    notes: Notes
    """Notes for a person."""

    @property
    def changed(self) -> bool:
        """Whether the metadata was of an older version."""
        return self.from_version != self.to_version


def newest(steps: Mapping[int, Step] = STEPS) -> int:
    """Return the version to which `steps` lead."""
    return max(steps, default=0) + 1


def version_of(metadata: Mapping[str, Any]) -> int:
    """Return the version of `metadata`; 1 if it has none.

    A whole number may also be written as a text or with a fraction of zero: people edit this by
    hand, and refusing their assistants would help nobody.

    Raises:
        MalformedMetadataError: The version is not a whole number from 1 on.
    """
    version = metadata.get(VERSION_KEY)
    match version:
        case None:
            return 1
        case bool():
            pass
        case int() if version >= 1:
            return version
        case float() if version >= 1 and version.is_integer():
            return int(version)
        case str() if version.isascii() and version.isdecimal() and int(version[:9]) > 0:
            return int(version[:9])
    raise MalformedMetadataError(f"has a {VERSION_KEY} that is not a whole number from 1 on")


def convert(
    metadata: Mapping[str, Any], columns: LegacyColumns, steps: Mapping[int, Step] = STEPS
) -> Conversion:
    """Return `metadata` in the newest version that `steps` lead to. Changes no argument.

    What is of that version already is returned as it is.

    Raises:
        MalformedMetadataError: It is not an object that JSON can write.
        NewerFormatError: It is of a version that `steps` do not know.
    """
    return convert_checked(checked(metadata), columns, steps)


def convert_checked(
    metadata: dict[str, Any], columns: LegacyColumns, steps: Mapping[int, Step] = STEPS
) -> Conversion:
    """Convert metadata that `parse` or `checked` returned, as `convert` does.

    Raises:
        MalformedMetadataError: Its version is not a whole number.
        NewerFormatError: It is of a version that `steps` do not know.
    """
    converted = metadata
    first = version = version_of(converted)
    if version > newest(steps):
        raise NewerFormatError(version, newest(steps))
    notes: Notes = ()
    while step := steps.get(version):
        version += 1
        converted, step_notes = step(converted, columns)
        converted[VERSION_KEY] = version
        notes += step_notes
    return Conversion(converted, first, version, notes)
