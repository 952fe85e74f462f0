"""The gRPC contracts, their errors and their events, from the comments of the .proto files."""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
    ServiceDescriptorProto,
)

from docs.reference import markdown

PROTOS = Path(__file__).parents[2] / "protos"
_MESSAGES, _ENUMS, _SERVICES = 4, 5, 6  # field numbers of FileDescriptorProto
_NESTED, _NESTED_ENUMS, _FIELDS, _METHODS, _VALUES = 3, 4, 2, 2, 2
_EVENT = "event"
"""The name of the choice in each message of a stream of events."""


@dataclass(frozen=True, slots=True)
class File:
    """One .proto file, and the comments before its declarations by their paths."""

    proto: FileDescriptorProto
    comments: dict[tuple[int, ...], str]

    @property
    def name(self) -> str:
        """The name of its page."""
        return self.proto.name.removeprefix("heddle/").rpartition("/")[2].removesuffix(".proto")

    def comment(self, *path: int) -> str:
        """Return the comment before the declaration at `path`."""
        return self.comments.get(path, "")


def contracts() -> list[File]:
    """Return the contracts of Heddle with their comments."""
    built = subprocess.run(  # noqa: S603 - fixed arguments
        [Path(sys.executable).with_name("buf"), "build", "--as-file-descriptor-set", "-o", "-"],
        cwd=PROTOS,
        check=True,
        capture_output=True,
    ).stdout
    return [
        File(
            file,
            {
                tuple(each.path): each.leading_comments.strip("\n")
                for each in file.source_code_info.location
            },
        )
        for file in FileDescriptorSet.FromString(built).file
        if file.name.startswith("heddle/")
    ]


def pages() -> dict[str, str]:
    """Return a page for each contract, and those of errors and events."""
    files = contracts()
    written = {f"grpc/{file.name}.md": _page(file) for file in files}
    rows = [
        (f"[{file.name}](grpc/{file.name}.md)", markdown.code(file.proto.package), _services(file))
        for file in files
    ]
    table = markdown.table(("Contract", "Package", "Services"), rows)
    written["grpc.md"] = markdown.page(
        "gRPC contracts", "Generated from the `.proto` files.", table
    )
    return {**written, "events.md": _events(files)}


def undocumented(files: list[File]) -> list[str]:
    """Return the RPCs and enum values without a comment."""
    rpcs = [
        f"{service.name}.{method.name}"
        for file in files
        for index, service in enumerate(file.proto.service)
        for number, method in enumerate(service.method)
        if not file.comment(_SERVICES, index, _METHODS, number)
    ]
    values = [
        value.name
        for file in files
        for path, enum in _enums(file)
        for number, value in enumerate(enum.value)
        if not file.comment(*path, _VALUES, number)
    ]
    return rpcs + values


def _page(file: File) -> str:
    sections = [
        _text(file.comment(2)),
        f"Package `{file.proto.package}`, file `protos/{file.proto.name}`.",
    ]
    for index, service in enumerate(file.proto.service):
        sections += [f"## {service.name}", _text(file.comment(_SERVICES, index))]
        for number, method in enumerate(service.method):
            takes = _type(method.input_type, streaming=method.client_streaming)
            gives = _type(method.output_type, streaming=method.server_streaming)
            signature = f"`rpc {method.name}({takes}) returns ({gives})`"
            text = _text(file.comment(_SERVICES, index, _METHODS, number))
            sections += [f"### {method.name}", signature, text]
    sections += [f"## Messages of {file.name}" if file.proto.message_type else ""]
    for path, name, message in _messages(file):
        fields = [
            (markdown.code(field.name), _field_type(field), file.comment(*path, _FIELDS, number))
            for number, field in enumerate(message.field)
        ]
        sections += [f"### {name}", _text(file.comment(*path))]
        sections += [markdown.table(("Field", "Type", "Description"), fields)]
    for path, enum in _enums(file):
        sections += [f"### {enum.name}", _text(file.comment(*path)), _values(file, path, enum)]
    return markdown.page(f"{file.name} contract", *sections)


def reasons(files: list[File]) -> tuple[str, dict[str, tuple[str, str]]]:
    """Return the comment of the enum of reasons, and the gRPC code and meaning of each."""
    [(file, path, enum)] = [
        (file, path, enum)
        for file in files
        for path, enum in _enums(file)
        if enum.name == "ErrorReason"
    ]
    listed = {}
    for number, value in enumerate(enum.value[1:], start=1):
        comment = file.comment(*path, _VALUES, number)
        code = re.match(r"\s*\[(\w+)\]\s*", comment)
        assert code, value.name  # noqa: S101 - a test has the comments checked
        name = value.name.removeprefix("ERROR_REASON_")
        listed[name] = (code[1], comment[code.end() :])
    return _text(file.comment(*path)), listed


def _events(files: list[File]) -> str:
    sections = []
    for file in files:
        for path, name, message in _messages(file):
            if any(one.name == _EVENT for one in message.oneof_decl):
                rows = [
                    (
                        markdown.code(field.name),
                        _field_type(field),
                        file.comment(*path, _FIELDS, number),
                    )
                    for number, field in enumerate(message.field)
                ]
                table = markdown.table(("Event", "Type", "Description"), rows)
                sections += [f"## {name}", _text(file.comment(*path)), table]
    return markdown.page("Events", "Streaming calls return these events.", *sections)


def _messages(file: File) -> Iterator[tuple[tuple[int, ...], str, DescriptorProto]]:
    def walk(
        path: tuple[int, ...], prefix: str, message: DescriptorProto
    ) -> Iterator[tuple[tuple[int, ...], str, DescriptorProto]]:
        if message.options.map_entry:
            return
        yield path, prefix + message.name, message
        for index, nested in enumerate(message.nested_type):
            yield from walk((*path, _NESTED, index), f"{prefix}{message.name}.", nested)

    for index, message in enumerate(file.proto.message_type):
        yield from walk((_MESSAGES, index), "", message)


def _enums(file: File) -> Iterator[tuple[tuple[int, ...], EnumDescriptorProto]]:
    for index, enum in enumerate(file.proto.enum_type):
        yield (_ENUMS, index), enum
    for path, _, message in _messages(file):
        for index, enum in enumerate(message.enum_type):
            yield (*path, _NESTED_ENUMS, index), enum


def _values(file: File, path: tuple[int, ...], enum: EnumDescriptorProto) -> str:
    rows = (
        (markdown.code(value.name), file.comment(*path, _VALUES, number))
        for number, value in enumerate(enum.value)
    )
    return markdown.table(("Value", "Meaning"), rows)


def _services(file: File) -> str:
    services: list[ServiceDescriptorProto] = list(file.proto.service)
    return ", ".join(markdown.code(service.name) for service in services)


def _type(name: str, *, streaming: bool) -> str:
    return f"{'stream ' if streaming else ''}{name.removeprefix('.')}"


def _field_type(field: FieldDescriptorProto) -> str:
    kind = FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()
    name = field.type_name.removeprefix(".") or kind
    repeated = field.label == FieldDescriptorProto.LABEL_REPEATED
    return markdown.code(f"repeated {name}" if repeated else name)


def _text(comment: str) -> str:
    """Return a comment as Markdown: its lines begin with one space."""
    return "\n".join(line.removeprefix(" ") for line in comment.splitlines())
