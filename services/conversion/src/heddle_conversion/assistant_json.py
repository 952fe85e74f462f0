"""The JSON form of an assistant, the same in files and in the REST interface.

Reader and writer walk the descriptor of `heddle.assistant.v1.Assistant`, so a new field of the
contract needs no change here. Members that the contract does not model are in `extra`.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from google.api import field_behavior_pb2
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_runtime.contract.enums import enum_names
from heddle_runtime.contract.limits import (
    MAX_STARTER_QUESTIONS,
    MAX_TOOL_ROUNDS,
    MAX_TOOL_SECONDS,
    MAX_TOOLS,
    MIN_TOOL_SECONDS,
    is_tool_timeout,
)
from heddle_runtime.contract.struct_codec import from_struct, to_struct

from heddle_conversion.errors import MalformedMetadataError
from heddle_conversion.identifiers import LAST_SECOND
from heddle_conversion.json_text import checked

FORMAT_VERSION = 2
VERSION_MEMBER = "_format_version"
PUBLISHED_MEMBER = "published"
EXAMPLE_MEMBER = "example"
"""Only of files."""
WARNINGS_MEMBER = "warnings"
MALFORMED_MEMBER = "malformed_metadata"
READ_ONLY_MEMBER = "read_only"
_IGNORED = (PUBLISHED_MEMBER, WARNINGS_MEMBER, MALFORMED_MEMBER, READ_ONLY_MEMBER)
"""Members of responses beside those of the assistant. Clients may send them back."""
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")
_MAX_INT = 2**31 - 1
_MEMBERS = {"tool": "type", "disabled": "enabled", "create_time": "created", "extra_json": "extra"}
"""The members whose names differ from the fields'. `enabled` is the opposite of `disabled`."""
_MAXIMA = {
    "max_tool_rounds": MAX_TOOL_ROUNDS,
    "starter_questions": MAX_STARTER_QUESTIONS,
    "tools": MAX_TOOLS,
}
_UNKNOWN = "is not known here; what is to be kept all the same goes into extra"

if TYPE_CHECKING:  # protobuf's C implementation has classes of its own
    from google._upb._message import FieldDescriptor as CFieldDescriptor

    Descriptor = FieldDescriptor | CFieldDescriptor

Path = tuple[str | int, ...]
"""The members and items that lead to a value."""
ExactText = Callable[[Path, object], str]
"""Returns the JSON text of a value."""


class FieldError(ValueError):
    """A member of the JSON form is wrong."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem

    def __str__(self) -> str:
        return f"{path_text(self.path) or 'The document'} {self.problem}"


class _Reader:
    """The context in which one document is read."""

    def __init__(self, exact_text: ExactText) -> None:
        self.exact_text = exact_text
        self.errors: list[FieldError] = []

    @contextmanager
    def field(self) -> Iterator[None]:
        """Collect the error of a member instead of raising it."""
        try:
            yield
        except FieldError as error:
            self.errors.append(error)


def path_text(path: Path) -> str:
    """Return a path as text, for example `tools[2].config.top_k`."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".")


def contains(fields: Collection[str], field: str) -> bool:
    """Return whether a field is one of `fields`, or is a part of one."""
    return any(field == each or field.startswith((f"{each}.", f"{each}[")) for each in fields)


def parse_path(field: str) -> Path:
    """Return the path in the JSON form of a field of `heddle.assistant.v1.Assistant`.

    For example `assistant.tools[0].tool` is the path `tools[0].type`.
    """
    steps: list[str | int] = [
        int(index) if index else name
        for name, index in _STEP.findall(field.removeprefix("assistant"))
    ]
    # Names below a configuration are those of the tool.
    depth = steps.index("config") if "config" in steps else len(steps)
    own = (_MEMBERS.get(step, step) if isinstance(step, str) else step for step in steps[:depth])
    return (*own, *steps[depth:])


def read_fields(
    document: object, exact_text: ExactText = lambda _, value: json.dumps(value)
) -> tuple[pb.Assistant, list[FieldError]]:
    """Return the assistant that a document describes, and everything that is wrong with it.

    A member that the document lacks, or that is wrong, is not set.

    Args:
        document: The document; members that only responses have are ignored.
        exact_text: Returns the text of a value of `extra`.
    """
    assistant, reader = pb.Assistant(), _Reader(exact_text)
    with reader.field():
        members = dict(_mapping(document, ()))
        if (version := members.pop(VERSION_MEMBER, None)) not in (None, FORMAT_VERSION):
            problem = f"must be {FORMAT_VERSION}, not {str(version)[:20]}"
            reader.errors.append(FieldError((VERSION_MEMBER,), problem))
        for name in _IGNORED:
            members.pop(name, None)
        _read(assistant, members, (), reader)
    return assistant, reader.errors


def write_assistant(
    assistant: pb.Assistant, embed: Callable[[str], Any] = json.loads
) -> dict[str, Any]:
    """Return the document of an assistant.

    Args:
        assistant: The assistant.
        embed: Returns what stands for a JSON text in the document.
    """
    document = {VERSION_MEMBER: FORMAT_VERSION, **_write(assistant, embed)}
    document.setdefault("created", 0)
    document.setdefault("extra", embed("{}"))
    return document


def _read(message: Message, members: Mapping[str, Any], path: Path, reader: _Reader) -> None:
    fields = {_MEMBERS.get(field.name, field.name): field for field in message.DESCRIPTOR.fields}
    reader.errors += [
        FieldError((*path, str(name)), _UNKNOWN) for name in members if name not in fields
    ]
    for name, field in fields.items():
        with reader.field():
            _read_field(message, field, members.get(name), (*path, name), reader)


def _read_field(
    message: Message, field: "Descriptor", value: object, path: Path, reader: _Reader
) -> None:
    behaviour = field.GetOptions().Extensions[field_behavior_pb2.field_behavior]
    required = field_behavior_pb2.REQUIRED in behaviour
    if value is None:
        if required:
            raise FieldError(path, "is required")
        return
    if field.name == "extra_json":
        setattr(message, field.name, reader.exact_text(path, _mapping(value, path)))
    elif field.is_repeated:
        for index, item in enumerate(_items(value, path, field)):
            if field.message_type is None:
                with reader.field():
                    getattr(message, field.name).append(
                        _scalar(field, item, (*path, index), required=True)
                    )
                continue
            added = getattr(message, field.name).add()
            with reader.field():
                _read_message(added, item, (*path, index), reader)
    elif field.type == FieldDescriptor.TYPE_MESSAGE:
        _read_message(getattr(message, field.name), value, path, reader)
    else:
        setattr(message, field.name, _scalar(field, value, path, required=required))


def _read_message(message: Message, value: object, path: Path, reader: _Reader) -> None:
    match message:
        case Struct():
            message.CopyFrom(read_struct(value, path))
        case Duration():
            if not is_tool_timeout(value):
                what = f"must be a number from {MIN_TOOL_SECONDS} to {MAX_TOOL_SECONDS}"
                raise FieldError(path, what)
            message.FromNanoseconds(round(value * 1e9))
        case Timestamp():
            message.FromSeconds(_whole(value, path, LAST_SECOND))
        case _:
            message.SetInParent()
            _read(message, _mapping(value, path), path, reader)


def _scalar(field: "Descriptor", value: object, path: Path, *, required: bool) -> object:
    match field.type:
        case FieldDescriptor.TYPE_BOOL:
            if not isinstance(value, bool):
                raise FieldError(path, "must be true or false")
            return value != (field.name == "disabled")
        case FieldDescriptor.TYPE_ENUM:
            values = _enum_values(field)
            if not isinstance(value, str) or value not in values:
                raise FieldError(path, f"must be one of {', '.join(values)}")
            return values[value]
        case FieldDescriptor.TYPE_STRING:
            return _text(field, value, path, required=required)
        case FieldDescriptor.TYPE_INT32 | FieldDescriptor.TYPE_INT64:
            return _whole(value, path, _MAXIMA.get(field.name, _MAX_INT))
        case _:
            raise NotImplementedError(field.full_name)


def _text(field: "Descriptor", value: object, path: Path, *, required: bool) -> str:
    if field.name == "id" and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise FieldError(path, "must be a string")
    if required and not value.strip():
        raise FieldError(path, "must not be empty")
    if "\0" in value:  # PostgreSQL cannot store it
        raise FieldError(path, "must not contain the character NUL")
    return value


def _write(message: Message, embed: Callable[[str], Any]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        name, value = _MEMBERS.get(field.name, field.name), getattr(message, field.name)
        if field.name == "extra_json":
            if value:
                members[name] = embed(value)
        elif field.is_repeated:
            items = list(value)
            are_texts = field.message_type is None
            members[name] = items if are_texts else [_write_message(it, embed) for it in items]
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            if message.HasField(field.name) or not isinstance(value, Duration | Timestamp):
                members[name] = _write_message(value, embed)
        elif field.type == FieldDescriptor.TYPE_ENUM:
            names = {number: text for text, number in _enum_values(field).items()}
            # Writing the default of another field out would be an edit.
            if value in names or field.name == "mode":
                members[name] = names.get(value, "augment")
        else:
            members[name] = not value if field.name == "disabled" else value
    return members


def _write_message(message: Message, embed: Callable[[str], Any]) -> object:
    match message:
        case Struct():
            return from_struct(message)
        case Duration():
            return message.ToNanoseconds() / 1e9
        case Timestamp():
            return message.seconds
        case _:
            return _write(message, embed)


def _enum_values(field: "Descriptor") -> dict[str, int]:
    """Return the values of an enumeration by their names, without the prefix and the first one."""
    assert field.enum_type is not None  # noqa: S101 - it is of an enumeration
    return {name: number for number, name in enum_names(field.enum_type).items()}


def _mapping(value: object, path: Path) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise FieldError(path, "must be an object")
    return value


def _items(value: object, path: Path, field: "Descriptor") -> list[Any]:
    if not isinstance(value, list):
        raise FieldError(path, "must be an array")
    if len(value) > _MAXIMA[field.name]:
        raise FieldError(path, f"must have at most {_MAXIMA[field.name]} items")
    return value


def _whole(value: object, path: Path, maximum: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= maximum:
        raise FieldError(path, f"must be a whole number from 0 to {maximum}")
    return value


def read_struct(value: object, path: Path = ()) -> Struct:
    """Return an object as a `Struct`.

    Raises:
        FieldError: It is nested too deeply, has a number that is too large, or is not JSON.
    """
    members = _mapping(value, path)
    try:
        return to_struct(checked(members))
    except MalformedMetadataError as error:
        raise FieldError(path, error.violations[0].description) from None
    except ValueError:
        raise FieldError(path, "has a number that is too large") from None
