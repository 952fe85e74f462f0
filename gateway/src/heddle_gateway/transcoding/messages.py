"""Translates messages of the contracts to JSON, and members of JSON to fields of messages.

Both directions are compiled once for each message.
"""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from google.protobuf.timestamp_pb2 import Timestamp
from heddle.rest.v1 import rest_pb2
from heddle_conversion.assistant_json import write_assistant
from heddle_runtime.contract.enums import enum_names
from heddle_runtime.contract.rest_members import FAULT, Member, members
from heddle_runtime.contract.rest_writing import FORMS, MICROS, OWN_FORMS, writer
from heddle_runtime.errors import InvalidRequestError
from pydantic import BaseModel

from heddle_gateway.http.error_responses import faults, invalid
from heddle_gateway.http.json_text import Place, parse

__all__ = ["reader", "writer"]
Reader = Callable[[BaseModel, Place], dict[str, Any]]


def _assistant(assistant: Any) -> dict[str, Any]:  # noqa: ANN401 - as any message
    return write_assistant(assistant, lambda text: msgspec.Raw(text.encode()))


def _fault(violation: Any) -> dict[str, Any]:  # noqa: ANN401 - as any message
    return faults([violation])[0]


def _object(text: str) -> msgspec.Raw | None:
    """Return an object byte for byte; None if the text is none."""
    try:
        parse(text.encode())
    except InvalidRequestError:
        return None
    return msgspec.Raw(text.encode())


OWN_FORMS["heddle.assistant.v1.Assistant"] = _assistant
OWN_FORMS[FAULT] = _fault
FORMS[rest_pb2.FORM_OBJECT] = _object


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
