"""Checks that requests have the fields that the contract marks as `REQUIRED`, and real times."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from google.api import field_behavior_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from heddle_runtime.errors import Violation

NOT_CHECKED = "not checked"
"""The beginning of a warning's description if a service could not be reached."""
UNKNOWN_MEMBER = "is none that this release knows"
"""The description of a violation for an unknown number of an enumeration."""
_CHECKED_BY_SERVICES = {"heddle.assistant.v1.Assistant"}
"""Messages whose services report missing fields together with all other faults."""


def missing_fields(message: Message) -> list[Violation]:
    """Return a violation for every field marked `REQUIRED` that `message` lacks, at any depth."""
    return _missing(message, _checked_fields(message.DESCRIPTOR))


def _missing(message: Message, fields: "_CheckedFields") -> list[Violation]:
    violations: list[Violation] = []
    for name, required, has_presence, nested in fields:
        present: Any = message.HasField(name) if has_presence else getattr(message, name)
        if not present:
            if required:
                violations.append(Violation(name, "is required"))
        elif nested is None:
            continue
        elif has_presence:
            if inner := _missing(getattr(message, name), nested):
                violations += _within(name, inner)
        else:  # A slice: protobuf ends an iteration with an error that costs more than the items.
            for index, item in enumerate(present[:]):
                if inner := _missing(item, nested):
                    violations += _within(f"{name}[{index}]", inner)
    return violations


def impossible_times(message: Message) -> list[Violation]:
    """Return a violation for every duration and time, at any depth, that protobuf does not define.

    Their conversions would fail.
    """
    violations: list[Violation] = []
    for name, repeated, limits in _fields_with_times(message.DESCRIPTOR):
        if not repeated and not message.HasField(name):
            continue
        values = getattr(message, name)[:] if repeated else (getattr(message, name),)
        for index, value in enumerate(values):
            path = f"{name}[{index}]" if repeated else name
            if limits is None:
                violations += _within(path, impossible_times(value))
            elif not limits.include(value):
                violations.append(Violation(path, limits.description))
    return violations


@dataclass(frozen=True, slots=True)
class _Limits:
    """The smallest and the largest value of a type."""

    seconds: tuple[int, int]
    nanos: tuple[int, int]
    description: str

    def include(self, value: Any) -> bool:  # noqa: ANN401 - a Duration or a Timestamp
        """Return whether a value is within the limits."""
        return (
            self.seconds[0] <= value.seconds <= self.seconds[1]
            and self.nanos[0] <= value.nanos <= self.nanos[1]
            and (self.nanos[0] == 0 or value.seconds * value.nanos >= 0)
        )


_NANOS = 999_999_999
_TIMES = {
    "google.protobuf.Duration": _Limits(
        (-315_576_000_000, 315_576_000_000), (-_NANOS, _NANOS), "must be at most 10,000 years"
    ),
    "google.protobuf.Timestamp": _Limits(
        (-62_135_596_800, 253_402_300_799), (0, _NANOS), "must be a time of the years 1 to 9999"
    ),
}


@cache
def _fields_with_times(descriptor: Descriptor) -> tuple[tuple[str, bool, _Limits | None], ...]:
    """Return the name of each field that is a time or holds one, and whether it is repeated.

    The limits are None for a message that holds times.
    """
    return tuple(
        (field.name, field.is_repeated, _TIMES.get(inner.full_name))
        for field in descriptor.fields
        if (inner := field.message_type) is not None and _holds_times(inner, (descriptor,))
    )


def _holds_times(inner: Descriptor, outer: tuple[Descriptor, ...]) -> bool:
    if inner.full_name in _TIMES:
        return True
    if inner in outer or not _is_checked(inner) or inner.GetOptions().map_entry:
        return False
    members = [field.message_type for field in inner.fields if field.message_type is not None]
    return any(_holds_times(each, (*outer, inner)) for each in members)


def _within(path: str, violations: Sequence[Violation]) -> Iterator[Violation]:
    return (Violation(f"{path}.{each.field}", each.description) for each in violations)


_CheckedFields = list[tuple[str, bool, bool, "_CheckedFields | None"]]
"""Of each field: its name, whether it is `REQUIRED` and has presence, and the fields to check of
the messages in it, None if there are none. A field with such messages and without presence is
repeated."""
_checked: dict[Any, _CheckedFields] = {}


def _checked_fields(descriptor: Any) -> _CheckedFields:  # noqa: ANN401 - two classes, by the engine
    """Return the fields to check of a message, which may contain itself."""
    if (known := _checked.get(descriptor)) is not None:
        return known
    fields = _checked[descriptor] = []
    for field in descriptor.fields:
        required, nested = _is_required(field), _holds_required(field, ())
        if required or nested:
            inner = field.message_type if nested else None
            inner_fields = None if inner is None else _checked_fields(inner)
            fields.append((field.name, required, field.has_presence, inner_fields))
    return fields


def _holds_required(field: FieldDescriptor, outer: tuple[Descriptor, ...]) -> bool:
    """Return whether a field holds messages that have required fields, at any depth.

    Args:
        field: The field.
        outer: The messages that contain the field, which may contain themselves.
    """
    inner = field.message_type
    if inner is None or inner in outer or not _is_checked(inner):
        return False
    return any(
        _is_required(each) or _holds_required(each, (*outer, inner)) for each in inner.fields
    )


def _is_checked(kind: Descriptor) -> bool:
    return kind.full_name.startswith("heddle.") and kind.full_name not in _CHECKED_BY_SERVICES


def _is_required(field: FieldDescriptor) -> bool:
    behaviors = field.GetOptions().Extensions[field_behavior_pb2.field_behavior]
    return field_behavior_pb2.REQUIRED in behaviors
