"""Writes messages of the contracts as JSON with the names that REST has."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message
from heddle.rest.v1 import rest_pb2

from heddle_runtime.contract.enums import enum_names
from heddle_runtime.contract.rest_members import Member, constants, members
from heddle_runtime.contract.struct_codec import from_struct

MICROS = 1_000_000
NANOS = 1_000_000_000
Translation = Callable[[Any], Any]
Writer = Callable[[Message], dict[str, Any]]


@cache
def writer(message: Descriptor, without: tuple[str, ...] = ()) -> Writer:
    """Return the function that writes messages as members of JSON, without some fields."""
    if own := OWN_FORMS.get(message.full_name):
        return own
    shown = [each for each in members(message) if each.field.name not in without]
    inline = [_inlined(each) for each in shown if each.form == rest_pb2.FORM_INLINE]
    shown = [each for each in shown if each.form != rest_pb2.FORM_INLINE]
    plain = [(each.name, _written(each)) for each in shown if not each.options.sparse]
    sparse = [(each, _written(each)) for each in shown if each.options.sparse]
    same = constants(message)

    def write(value: Message) -> dict[str, Any]:
        result = {**same, **{name: read(value) for name, read in plain}}
        for read in inline:
            result |= read(value)
        for part, read in sparse:
            if value.HasField(part.field.name):
                result[part.name] = read(value)
        return result

    return write


def _inlined(inner: Member) -> Writer:
    name = inner.field.name
    write = writer(inner.message)
    if not inner.options.nullable:
        return lambda value: write(getattr(value, name))
    nothing = {each.name: None for each in members(inner.message)}
    return lambda value: write(getattr(value, name)) if value.HasField(name) else nothing


def _written(part: Member) -> Translation:
    """Return the function that writes the value of a field of a message."""
    field, name = part.field, part.field.name
    write = _value(part.value)
    if part.is_map:
        return lambda value: {key: write(each) for key, each in getattr(value, name).items()}
    if field.is_repeated:
        return lambda value: [write(each) for each in getattr(value, name)]
    if part.is_time and not part.options.nullable:
        return lambda value: getattr(value, name).seconds
    if field.has_presence and (part.options.nullable or not part.message):
        return lambda value: write(getattr(value, name)) if value.HasField(name) else None
    if part.options.nullable:
        return lambda value: write(text) if (text := getattr(value, name)) else None
    return lambda value: write(getattr(value, name))


def _value(part: Member) -> Translation:
    """Return the function that writes one value of a field."""
    if part.message is not None:
        write = _MESSAGES.get(part.message.full_name)
        return write or writer(part.message, tuple(part.options.without))
    if part.field.enum_type is not None:
        return _word(part)
    return FORMS.get(part.form, _same)


def _word(part: Member) -> Translation:
    names = enum_names(part.field.enum_type)
    if not part.options.fallback:
        return names.__getitem__
    fallback = json.loads(part.options.fallback)
    return lambda value: names.get(value, fallback)


def _same(value: Any) -> Any:  # noqa: ANN401 - any value of a field
    return value


_MESSAGES: dict[str, Translation] = {
    "google.protobuf.Timestamp": lambda value: value.seconds,
    "google.protobuf.Duration": lambda value: value.ToNanoseconds() / NANOS,
    "google.protobuf.Struct": from_struct,
}
FORMS: dict[int, Translation] = {
    rest_pb2.FORM_OBJECT: lambda text: msgspec.Raw(text.encode()),
    rest_pb2.FORM_MICROS: lambda value: value / MICROS,
    rest_pb2.FORM_JSON: lambda text: msgspec.Raw(text.encode()),
    rest_pb2.FORM_NOT: lambda value: not value,
}
"""How values of a form are written."""
OWN_FORMS: dict[str, Writer] = {}
"""Writers of messages that are not written field by field, by the full name of the message."""
