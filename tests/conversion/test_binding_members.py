"""Members of a stored binding that the contract does not model travel with the binding."""

import json
from typing import Any

import pytest
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_conversion import (
    MalformedMetadataError,
    StoredColumns,
    from_contract,
    to_contract,
)
from heddle_runtime.contract.struct_codec import to_struct

KEPT: dict[str, Any] = {
    "type": "weather",
    "id": "weather",
    "mode": "function",
    "enabled": True,
    "slot": "sky",
    "config": {"station": 2**60, "unit": "K"},
    "on_failure": "shrug",
    "timeout": 1.2345678912345,
    "note": {"by": "hand"},
}
DOCUMENT = {"_format_version": 2, "connector": "openai", "llm": "m", "prompt_processor": "p"}


def contract(**changes: Any) -> pb.Assistant:
    return to_contract(DOCUMENT | {"tools": [KEPT | changes]}, StoredColumns(1))


def tool(assistant: pb.Assistant) -> dict[str, Any]:
    [found] = from_contract(assistant)["tools"]
    assert isinstance(found, dict)
    return found


def test_what_the_contract_cannot_hold_is_told_beside_it_and_comes_back() -> None:
    assistant = contract()
    told = json.loads(assistant.tools[0].extra_json)
    assert told == {key: KEPT[key] for key in ("config", "on_failure", "timeout", "note")}
    assert assistant.extra_json == ""
    assert tool(assistant) == KEPT


def test_what_the_contract_holds_is_not_told_twice() -> None:
    assistant = contract(config={"unit": "K"}, on_failure="omit", timeout=2, note=1)
    assert json.loads(assistant.tools[0].extra_json) == {"note": 1}


def test_a_member_that_was_changed_counts_and_the_others_stay() -> None:
    assistant = contract()
    assistant.tools[0].config.CopyFrom(to_struct({"station": 5}))
    assistant.tools[0].on_failure = pb.FAILURE_POLICY_OMIT
    assert tool(assistant) == KEPT | {"config": {"station": 5}, "on_failure": "omit"}


def test_a_member_that_was_cleared_is_gone() -> None:
    assistant = contract()
    assistant.tools[0].ClearField("timeout")
    assert "timeout" not in tool(assistant)


def test_they_go_where_the_binding_goes() -> None:
    first = contract().tools[0]
    other = pb.ToolBinding(id="other", tool="moodle")
    bindings = from_contract(pb.Assistant(model=pb.ModelRef(), tools=[other, first]))["tools"]
    assert [binding.get("note") for binding in bindings] == [None, {"by": "hand"}]


@pytest.mark.parametrize("text", ["not-json{", "[1]", '{"a": NaN}'])
def test_what_is_no_object_is_refused(text: str) -> None:
    assistant = contract()
    assistant.tools[0].extra_json = text
    with pytest.raises(MalformedMetadataError):
        from_contract(assistant)


@pytest.mark.parametrize(
    "text",
    ['{"type": 5}', '{"type": ""}', '{"id": [1]}', '{"config": "x"}', '{"slot": "{context}"}'],
)
def test_odd_members_do_no_harm(text: str) -> None:
    binding = pb.ToolBinding(id="a", tool="weather", slot="sky", extra_json=text)
    assistant = pb.Assistant(model=pb.ModelRef(connector="c", model="m"), tools=[binding])
    [shown] = to_contract(from_contract(assistant), StoredColumns(1)).tools
    assert (shown.tool, shown.slot) == ("weather", "sky")
