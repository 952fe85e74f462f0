"""The studio names each member of an assistant that people edit, in the form and in the history."""

import re
from pathlib import Path

import pytest
from google.protobuf.descriptor import Descriptor
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_conversion.assistant_json import _MEMBERS

FOLDER = Path(__file__).parents[2] / "studio/src/routes/(app)/assistants/[id]"
NOT_EDITED = {
    "id",  # identifies the assistant or the binding, and never changes
    "created",
    "extra",  # members that no form knows; the history shows their names
    "type",  # the tool of a binding, whose own name is shown
}


def listed(name: str) -> set[str]:
    """Return the members of a list in `members.ts`."""
    content = (FOLDER / "members.ts").read_text().partition(f"const {name}:")[2].partition("};")[0]
    return set(re.findall(r'^  "?([\w.]+)"?: "', content, re.MULTILINE))


def members(message: Descriptor, prefix: str = "") -> set[str]:
    """Return the paths of the members of a message in JSON, but for those of lists."""
    paths: set[str] = set()
    for field in message.fields:
        name = _MEMBERS.get(field.name, field.name)
        if name in NOT_EDITED:
            continue
        paths.add(prefix + name)
        inner = field.message_type
        if inner is not None and not field.is_repeated and inner.file == pb.DESCRIPTOR:
            paths |= members(inner, f"{prefix}{name}.")
    return paths


@pytest.mark.parametrize(
    ("name", "message"),
    [("MEMBERS", pb.Assistant.DESCRIPTOR), ("BINDING_MEMBERS", pb.ToolBinding.DESCRIPTOR)],
)
def test_each_member_of_the_contract_has_a_name(name: str, message: Descriptor) -> None:
    assert members(message) <= listed(name)


@pytest.mark.parametrize("file", ["fields.ts", "versions/fields.ts"])
def test_the_form_and_the_history_read_the_one_list(file: str) -> None:
    text = (FOLDER / file).read_text()
    assert re.search(r'import \{ bindingName, memberName \} from "\.\.?/members\.ts";', text)
    assert '"editor.' not in text


def test_the_form_takes_the_names_of_members_from_the_list() -> None:
    text = (FOLDER / "members.ts").read_text()
    keys = set(re.findall(r': "([\w.]+)",', text))
    for file in FOLDER.glob("*.svelte"):
        labels = set(re.findall(r'label=\{t\("([\w.]+)"\)\}', file.read_text()))
        assert not labels & keys, file.name
