"""Translates messages of the contracts to JSON, and members of JSON to fields of messages.

Both directions are compiled once for each message.
"""

import json
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import msgspec
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from heddle.rest.v1 import rest_pb2
from heddle_conversion.assistant_json import write_assistant
from heddle_runtime.contract.enums import enum_names
from heddle_runtime.contract.struct_codec import from_struct
from heddle_runtime.errors import InvalidRequestError
from pydantic import BaseModel

from heddle_gateway.http.error_responses import faults, invalid
from heddle_gateway.http.json_text import Place, parse
from heddle_gateway.transcoding.contract import FAULT, Member, constants, members

MICROS = 1_000_000
NANOS = 1_000_000_000
Translation = Callable[[Any], Any]
Reader = Callable[[BaseModel, Place], dict[str, Any]]
Writer = Callable[[Message], dict[str, Any]]


@cache
def writer(message: Descriptor, without: tuple[str, ...] = ()) -> Writer:
    """Return the function that writes messages as members of JSON, without some fields."""
    if own := _OWN.get(message.full_name):
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


def _assistant(assistant: Any) -> dict[str, Any]:  # noqa: ANN401 - as any message
    return write_assistant(assistant, lambda text: msgspec.Raw(text.encode()))


def _fault(violation: Any) -> dict[str, Any]:  # noqa: ANN401 - as any message
    return faults([violation])[0]


_OWN: dict[str, Writer] = {
    "heddle.assistant.v1.Assistant": _assistant,
    FAULT: _fault,
}
"""Writers of messages that have a form of their own, by the full name of the message."""


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
    return _FORMS.get(part.form, _same)


def _word(part: Member) -> Translation:
    names = enum_names(part.field.enum_type)
    if not part.options.fallback:
        return names.__getitem__
    fallback = json.loads(part.options.fallback)
    return lambda value: names.get(value, fallback)


def _same(value: Any) -> Any:  # noqa: ANN401 - any value of a field
    return value


def _object(text: str) -> msgspec.Raw | None:
    """Return an object byte for byte; None if the text is none."""
    try:
        parse(text.encode())
    except InvalidRequestError:
        return None
    return msgspec.Raw(text.encode())


_MESSAGES: dict[str, Translation] = {
    "google.protobuf.Timestamp": lambda value: value.seconds,
    "google.protobuf.Duration": lambda value: value.ToNanoseconds() / NANOS,
    "google.protobuf.Struct": from_struct,
}
_FORMS: dict[int, Translation] = {
    rest_pb2.FORM_OBJECT: _object,
    rest_pb2.FORM_MICROS: lambda value: value / MICROS,
    rest_pb2.FORM_JSON: lambda text: msgspec.Raw(text.encode()),
    rest_pb2.FORM_NOT: lambda value: not value,
}


def reader(inputs: Iterable[Member], *, in_query: bool = False) -> Reader:
    """Return the function that reads fields of a message from a valid model and its JSON text.

    In a query commas separate several values.
    """
    parts = [
        (each.field.name, each.name, _listed(each) if in_query and each.is_list else _read(each))
        for each in inputs
        if not each.output_only
    ]

    def read(model: BaseModel, place: Place) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for field, name, translate in parts:
            if (value := getattr(model, name)) is not None:
                fields[field] = translate(value, place / name) if translate else value
        return fields

    return read


def _listed(part: Member) -> Callable[[str, Place], list[Any]]:
    enum = part.field.enum_type
    numbers = {word: number for number, word in enum_names(enum).items()} if enum else {}

    def read(text: str, _: Place) -> list[Any]:
        words = [each.strip() for each in text.split(",")] if text else []
        if enum and not numbers.keys() >= set(words):
            names = ", ".join(numbers)
            raise invalid(part.name, f"must be of {names}", "The query parameter")
        return [numbers[each] for each in words] if enum else words

    return read


def _read(part: Member) -> Callable[[Any, Place], Any] | None:
    if part.is_plain:
        return None
    read = _value_read(part.value)
    if part.is_map:
        return lambda values, place: {
            key: read(value, place / key) for key, value in values.items()
        }
    if part.field.is_repeated:
        return lambda values, place: [
            read(value, place / index) for index, value in enumerate(values)
        ]
    return read


def _value_read(part: Member) -> Callable[[Any, Place], Any]:
    if part.is_time:
        return lambda value, _: Timestamp(seconds=value)
    if part.message is not None:
        return reader(members(part.message))
    if part.field.enum_type is not None:
        numbers = {word: number for number, word in enum_names(part.field.enum_type).items()}
        return lambda value, _: numbers[value]
    if part.form == rest_pb2.FORM_NOT:
        return lambda value, _: not value
    if part.form == rest_pb2.FORM_MICROS:
        return lambda value, _: round(value * MICROS)
    return (lambda _, place: place.text()) if part.is_object else (lambda value, _: value)
