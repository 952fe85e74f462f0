"""Reads the YAML or JSON file of an assistant, with the lines of its faults."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import yaml
from google.protobuf import json_format
from heddle.assistant.v1 import assistant_pb2 as pb

from heddle_conversion.assistant_json import (
    EXAMPLE_MEMBER,
    PUBLISHED_MEMBER,
    FieldError,
    Path,
    contains,
    parse_path,
    path_text,
    read_fields,
)

# A number without end, a member whose name is a number, lists in lists without end.
_ODD = (OverflowError, TypeError, RecursionError)
_UNREADABLE = (ValueError, yaml.YAMLError, json_format.Error, *_ODD)


class AssistantFileError(ValueError):
    """The file is not YAML, or has no assistant."""


@dataclass(frozen=True, slots=True)
class FileFault:
    """A fault of a file."""

    line: int
    """From 1."""
    field: str
    """The path, for example `tools[2].config.top_k`; empty for the whole file."""
    problem: str

    def __str__(self) -> str:
        return f"line {self.line}: {f'{self.field} {self.problem}'.strip()}"


@dataclass(frozen=True, slots=True)
class AssistantFile:
    """The file of an assistant."""

    assistant: pb.Assistant
    published: bool
    example: bool
    """Whether those who may use it may read and copy it."""
    root: Any
    """The root of the file's YAML nodes."""
    faults: tuple[FileFault, ...]
    """The members that could not be read, and are not part of `assistant`."""

    def fault(self, field: str, problem: str) -> FileFault:
        """Return a fault of a field of the contract, for example `assistant.tools[2].tool`."""
        path = parse_path(field)
        return FileFault(_line(self.root, path), path_text(path), problem)

    def without_unread(self, faults: Iterable[FileFault]) -> list[FileFault]:
        """Return faults without those of members that could not be read."""
        unread = {fault.field for fault in self.faults}
        return [fault for fault in faults if not contains(unread, fault.field)]


def read_file(data: bytes) -> AssistantFile:
    """Return the assistant of a file; members that cannot be read are faults.

    Raises:
        AssistantFileError: The file is not an object in YAML or JSON.
    """
    try:
        root = yaml.compose(data, yaml.SafeLoader)
        document = yaml.safe_load(data)  # JSON is YAML
        example = document.pop(EXAMPLE_MEMBER, False) if isinstance(document, dict) else False
        assistant, errors = read_fields(document)
    except _ODD as error:
        problem = f"a tool's settings are none that JSON can hold: {error}"
        raise AssistantFileError(problem) from error
    except _UNREADABLE as error:
        raise AssistantFileError(str(error)) from error
    if not isinstance(document, dict):
        raise AssistantFileError(str(errors[0]))
    published = document.get(PUBLISHED_MEMBER, True)
    for name, value in ((PUBLISHED_MEMBER, published), (EXAMPLE_MEMBER, example)):
        if not isinstance(value, bool):
            errors.append(FieldError((name,), "must be true or false"))
    faults = tuple(FileFault(_line(root, e.path), path_text(e.path), e.problem) for e in errors)
    return AssistantFile(assistant, published is True, example is True, root, faults)


def _line(node: Any, path: Path) -> int:  # noqa: ANN401 - a YAML node
    """Return the line of the value at a path, or of the nearest one that contains it."""
    line = 1 if node is None else node.start_mark.line + 1
    for step in path:
        children: dict[Any, Any] = {}
        if isinstance(node, yaml.MappingNode):
            children = {key.value: (key, value) for key, value in node.value}
        elif isinstance(node, yaml.SequenceNode):
            children = {index: (item, item) for index, item in enumerate(node.value)}
        if step not in children:
            break
        at, node = children[step]
        line = at.start_mark.line + 1
    return line
