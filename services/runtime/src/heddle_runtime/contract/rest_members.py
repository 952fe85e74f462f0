"""The JSON form of messages, as the contracts describe it."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from google.api import field_behavior_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pool import Default
from heddle.rest.v1 import rest_pb2

from heddle_runtime.contract.enums import enum_names

FAULT = "google.rpc.BadRequest.FieldViolation"
_TIMESTAMP = "google.protobuf.Timestamp"
_DURATION = "google.protobuf.Duration"
_STRUCT = "google.protobuf.Struct"
_SPACES = re.compile(r"(?<=\S)\n(?=[^\n-])")


@dataclass(frozen=True, eq=False, slots=True)
class Member:
    """A field of a message, as a member of JSON."""

    field: FieldDescriptor
    options: rest_pb2.Member
    behaviours: Sequence[int] = ()

    @property
    def name(self) -> str:
        """The name in JSON."""
        return self.options.name or self.field.name

    @property
    def form(self) -> int:
        """The form in which the value is written."""
        return self.options.form

    @property
    def required(self) -> bool:
        """Whether a request must have it."""
        return self.options.required or field_behavior_pb2.REQUIRED in self.behaviours

    @property
    def output_only(self) -> bool:
        """Whether only the service sets it."""
        return field_behavior_pb2.OUTPUT_ONLY in self.behaviours

    @property
    def is_time(self) -> bool:
        """Whether it is a time."""
        return self.message is not None and self.message.full_name == _TIMESTAMP

    @property
    def is_duration(self) -> bool:
        """Whether it is a duration."""
        return self.message is not None and self.message.full_name == _DURATION

    @property
    def is_struct(self) -> bool:
        """Whether it is a JSON object of its own."""
        return self.message is not None and self.message.full_name == _STRUCT

    @property
    def is_list(self) -> bool:
        """Whether it has several values."""
        return self.field.is_repeated and not self.is_map

    @property
    def words(self) -> Sequence[str]:
        """The texts that are allowed; none if any is."""
        enum = self.field.enum_type
        return self.options.words or (tuple(enum_names(enum).values()) if enum else ())

    @property
    def is_map(self) -> bool:
        """Whether it is a map."""
        return self.message is not None and self.message.GetOptions().map_entry

    @property
    def message(self) -> Any:  # noqa: ANN401 - None, too, which most callers have excluded
        """The descriptor of the message that a field holds; None for other fields."""
        return self.field.message_type

    @property
    def value(self) -> "Member":
        """The member of a map's values; the member itself if it is no map."""
        return member(self.message.fields_by_name["value"]) if self.is_map else self

    @property
    def is_plain(self) -> bool:
        """Whether its JSON is the value of the field, unchanged."""
        return not (self.message or self.field.enum_type or self.form)

    @property
    def is_object(self) -> bool:
        """Whether it is the text of a JSON object."""
        return self.form == rest_pb2.FORM_OBJECT

    @property
    def description(self) -> str:
        """The description for clients."""
        return self.options.description or comment(self.field.full_name)


@cache
def members(message: Descriptor) -> tuple[Member, ...]:
    """Return the members of the JSON of a message in the order of its fields."""
    all_members = map(member, message.fields)
    return tuple(each for each in all_members if each.form != rest_pb2.FORM_HIDDEN)


def member(field: FieldDescriptor) -> Member:
    """Return a field as a member of JSON."""
    options = field.GetOptions().Extensions
    return Member(
        field, options[rest_pb2.member], tuple(options[field_behavior_pb2.field_behavior])
    )


def schema_options(message: Descriptor) -> rest_pb2.Schema:
    """Return the options of an object's description."""
    return message.GetOptions().Extensions[rest_pb2.schema]


def constants(message: Descriptor) -> dict[str, Any]:
    """Return the members that all objects of a message have with the same values."""
    text: dict[str, Any] = json.loads(schema_options(message).constants or "{}")
    return text


def message_named(full_name: str) -> Descriptor:
    """Return a message of the contracts."""
    return Default().FindMessageTypeByName(full_name)


def comment(full_name: str) -> str:
    """Return the comment of a part of the contracts, each paragraph in one line."""
    return _SPACES.sub(" ", _comments().get(full_name, ""))


@cache
def _comments() -> Mapping[str, str]:
    text: dict[str, Any] = json.loads((files("heddle") / "descriptions.json").read_bytes())
    return text
