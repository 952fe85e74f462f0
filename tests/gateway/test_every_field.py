"""Every field of an assistant survives: file, database, REST, export, and file again."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from conversion.assistant_files import read_assistant
from gateway.library import Library, library
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_conversion.assistant_json import write_assistant

_SET_BY_THE_SERVICE = ("id", "owner", "organization", "create_time")
_VALUES: dict[str, Any] = {
    "id": "file-every",
    "name": "every_field",
    "owner": "ana@example.org",
    "organization": "uni",
    "extra_json": '{"kept": [1, {"a": null}]}',
    "max_tool_rounds": 7,
    "icon": "🧵",
    "slot": "some_slot",
    "prompt_processor": "another_processor",
}
"""Where any text or number would not do."""


def filled(message: Message) -> Message:
    """Set every field of a message, and of the messages in it, to something but its default."""
    for field in message.DESCRIPTOR.fields:
        if field.is_repeated:
            items = getattr(message, field.name)
            items.append(f"a {field.name}") if field.message_type is None else filled(items.add())
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            match value := getattr(message, field.name):
                case Struct():
                    value.update({"number": 3, "items": ["a", {"b": True}]})
                case Duration():
                    value.FromMilliseconds(1500)
                case Timestamp():
                    value.FromSeconds(1_700_000_000)
                case _:
                    filled(value)
        elif field.name in _VALUES:
            setattr(message, field.name, _VALUES[field.name])
        elif field.type == FieldDescriptor.TYPE_STRING:
            setattr(message, field.name, f"a {field.name}")
        elif field.type == FieldDescriptor.TYPE_ENUM:
            assert field.enum_type is not None
            setattr(message, field.name, field.enum_type.values[-1].number)
        else:
            setattr(message, field.name, field.type == FieldDescriptor.TYPE_BOOL or 7)
    return message


def without_what_the_service_sets(document: dict[str, Any]) -> pb.Assistant:
    assistant = read_assistant(document)
    for name in _SET_BY_THE_SERVICE:
        assistant.ClearField(name)  # type: ignore[arg-type] # names of fields
    return assistant


_MEMBERS_OF_RESPONSES = ("created", "published", "warnings", "read_only")


@pytest.fixture
def assistant() -> pb.Assistant:
    """An assistant whose every field is set."""
    complete = pb.Assistant()
    filled(complete)
    assert {field.name for field, _ in complete.ListFields()} == {
        field.name for field in pb.Assistant.DESCRIPTOR.fields
    }
    return complete


def test_the_json_form_holds_every_field(assistant: pb.Assistant) -> None:
    document = write_assistant(assistant)
    assert read_assistant(json.loads(json.dumps(document))) == assistant
    assert read_assistant(yaml.safe_load(yaml.safe_dump(document))) == assistant


async def test_no_field_is_lost_on_the_way(tmp_path: Path, assistant: pb.Assistant) -> None:
    (tmp_path / "file.yaml").write_text(yaml.safe_dump(write_assistant(assistant)))
    async with library(tmp_path) as running:
        of_file = await got(running, "file-every")
        assert read_assistant(of_file) == assistant

        copy = of_file | {"name": "copy", "id": "", "owner": "", "organization": ""}
        created = (await running.people["ana"].post("/assistants", json=copy)).json()
        of_database = await got(running, created["id"])
        expected = without_what_the_service_sets(copy)
        assert without_what_the_service_sets(of_database) == expected

        saved = of_database | {"id": "saved", "name": "saved"}
        (tmp_path / "saved.json").write_text(json.dumps(saved))
        assert read_assistant(saved) == read_assistant(json.loads(json.dumps(saved)))

        ana = running.people["ana"]
        exported = await ana.get(f"/assistants/{created['id']}/export")
        of_the_service = {*_SET_BY_THE_SERVICE[:3], *_MEMBERS_OF_RESPONSES}
        assert exported.json() == {k: v for k, v in of_database.items() if k not in of_the_service}
        assert without_what_the_service_sets(exported.json()) == expected

        brought = await ana.post("/assistants/import?name=again", content=exported.content)
        of_export = without_what_the_service_sets(await got(running, brought.json()["id"]))
        expected.name = "again"
        assert of_export == expected


async def got(running: Library, identifier: str) -> dict[str, Any]:
    response = await running.people["ana"].get(f"/assistants/{identifier}")
    assert response.status_code == 200, response.text
    document: dict[str, Any] = response.json()
    return document
