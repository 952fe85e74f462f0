"""Checks that requests have the fields that the contract marks as `REQUIRED`, and real times."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from google.api import field_behavior_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from heddle_runtime.errors import Violation

NOT_CHECKED = "not checked"
"""The beginning of a warning's description if a service could not be reached."""
UNKNOWN_MEMBER = "is none that this release knows"
"""The description of a violation for an unknown number of an enumeration."""
REQUIRED = "is required"
"""The description of a violation for a field that is missing."""
_CHECKED_BY_SERVICES = {"heddle.assistant.v1.Assistant"}
"""Messages whose services report missing fields together with all other faults."""
_TIMES = {
    "google.protobuf.Duration": "must be at most 10,000 years",
    "google.protobuf.Timestamp": "must be a time of the years 1 to 9999",
}


class _Field(NamedTuple):
    name: str
    is_required: bool
    has_presence: bool
    """A field with `time` or `nested` and without presence is repeated."""
    time: str
    """The description of an impossible time; empty for other fields."""
    nested: "list[_Field] | None"
    """The fields to check of the messages in it, None if there are none."""


def faults(message: Message) -> list[Violation]:
    """Return the faults of a message, at any depth.

    They are fields marked `REQUIRED` that it lacks, and durations and times that protobuf does not
    define, whose conversions would fail.
    """
    return _faults(message, _checked_fields(message.DESCRIPTOR))


def _faults(message: Message, fields: list[_Field]) -> list[Violation]:
    violations: list[Violation] = []
    for name, is_required, has_presence, time, nested in fields:
        present: Any = message.HasField(name) if has_presence else getattr(message, name)
        if not present:
            if is_required:
                violations.append(Violation(name, REQUIRED))
        elif not time and nested is None:
            continue
        elif has_presence:
            if inner := _inner(getattr(message, name), time, nested):
                violations += _within(name, inner)
        else:  # A slice: protobuf ends an iteration with an error that costs more than the items.
            for index, item in enumerate(present[:]):
                if inner := _inner(item, time, nested):
                    violations += _within(f"{name}[{index}]", inner)
    return violations


def _inner(value: Any, time: str, nested: list[_Field] | None) -> list[Violation]:  # noqa: ANN401 - any message
    if nested is not None:
        return _faults(value, nested)
    return [] if _is_possible(value) else [Violation("", time)]


def _within(path: str, violations: list[Violation]) -> Iterator[Violation]:
    return (Violation(f"{path}.{each.field}".rstrip("."), each.description) for each in violations)


def _is_possible(time: Any) -> bool:  # noqa: ANN401 - a Duration or a Timestamp
    try:
        time.ToJsonString()
    except ValueError:
        return False
    return True


_checked: dict[Any, list[_Field]] = {}


def _checked_fields(descriptor: Any) -> list[_Field]:  # noqa: ANN401 - two classes, by the engine
    if (known := _checked.get(descriptor)) is not None:
        return known
    fields = _checked[descriptor] = []
    for field in descriptor.fields:
        inner = field.message_type
        time = "" if inner is None else _TIMES.get(inner.full_name, "")
        is_required, is_nested = _is_required(field), _has_checked(inner, ())
        if is_required or time or is_nested:
            nested = _checked_fields(inner) if is_nested else None
            fields.append(_Field(field.name, is_required, field.has_presence, time, nested))
    return fields


def _has_checked(message: Descriptor | None, outer: tuple[Descriptor, ...]) -> bool:
    """Return whether a message has fields to check, at any depth."""
    if message is None or message in outer or not _is_checked(message):
        return False
    return any(
        _is_required(each)
        or (each.message_type is not None and each.message_type.full_name in _TIMES)
        or _has_checked(each.message_type, (*outer, message))
        for each in message.fields
    )


def _is_checked(kind: Descriptor) -> bool:
    is_own = kind.full_name.startswith("heddle.") and kind.full_name not in _CHECKED_BY_SERVICES
    return is_own and not kind.GetOptions().map_entry


def _is_required(field: FieldDescriptor) -> bool:
    behaviors = field.GetOptions().Extensions[field_behavior_pb2.field_behavior]
    return field_behavior_pb2.REQUIRED in behaviors
