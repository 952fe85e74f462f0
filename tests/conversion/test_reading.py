"""Documents of version 2 as the contract, and back."""

from typing import Any

import pytest
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle.connector.v1 import connector_pb2
from heddle.tool.v1 import tool_pb2
from heddle_conversion import (
    MalformedMetadataError,
    StoredColumns,
    convert,
    from_contract,
    parse,
    to_contract,
)
from heddle_conversion.columns import LegacyColumns
from heddle_conversion.json_text import checked
from heddle_runtime.contract.limits import MAX_JSON_DEPTH
from heddle_runtime.contract.struct_codec import from_struct
from heddle_runtime.contract.validation import faults

ROW = StoredColumns(
    id=42,
    name="1_tutor",
    description="Helps.",
    owner="ana@example.org",
    organization=7,
    system_prompt="You help.",
    prompt_template="{context}{user_input}",
    created_at=1_700_000_000,
)
TOOL = {"id": "a", "type": "simple_rag", "mode": "augment", "enabled": True, "config": {}}


def read(**metadata: Any) -> pb.Assistant:
    return to_contract({"_format_version": 2, "tools": [], **metadata}, ROW)


def read_tool(**members: Any) -> pb.ToolBinding:
    (binding,) = read(tools=[{**TOOL, **members}]).tools
    return binding


def test_columns_fill_the_contract() -> None:
    assistant = read()

    assert (assistant.id, assistant.name, assistant.owner) == ("42", "1_tutor", "ana@example.org")
    assert (assistant.organization, assistant.description) == ("7", "Helps.")
    assert (assistant.system_prompt, assistant.prompt_template) == (
        "You help.",
        "{context}{user_input}",
    )
    assert assistant.create_time.seconds == 1_700_000_000
    assert assistant.extra_json == ""


def test_columns_that_are_null_are_empty() -> None:
    assistant = to_contract({}, StoredColumns(1))

    assert (assistant.id, assistant.name, assistant.organization) == ("1", "", "")
    assert not assistant.HasField("create_time")


@pytest.mark.parametrize("created_at", [-1, 0, 2**80, "yesterday", 1.5])
def test_a_time_that_is_none_is_left_out(created_at: Any) -> None:
    assert not to_contract({}, StoredColumns(1, created_at=created_at)).HasField("create_time")


@pytest.mark.parametrize("value", [None, "", "  ", 5, [], {}])
def test_what_is_missing_or_odd_has_lambs_defaults(value: object) -> None:
    assistant = read(connector=value, llm=value, prompt_processor=value, capabilities=value)

    assert (assistant.model.connector, assistant.model.model) == ("openai", "gpt-4")
    assert assistant.prompt_processor == "simple_augment"
    assert not faults(assistant)


@pytest.mark.parametrize("name", ["default", "default_processor", "multi_augment"])
def test_names_of_the_simple_prompt_processor_are_understood_and_kept(name: str) -> None:
    assistant = read(prompt_processor=name)

    assert assistant.prompt_processor == "simple_augment"
    assert from_contract(assistant)["prompt_processor"] == name


def test_other_names_are_handed_on() -> None:
    assistant = read(connector="openai_tools", prompt_processor="moodle_augment", llm="gpt-4.1")

    assert assistant.model.connector == "openai"
    assert assistant.prompt_processor == "moodle_augment"
    assert assistant.model.model == "gpt-4.1"


@pytest.mark.parametrize(
    ("metadata", "strategy"),
    [
        ({}, ""),
        ({"orchestrator": "parallel", "assistant_type": "multi_tool"}, "parallel"),
        ({"assistant_type": "multi_tool"}, "sequential"),
        ({"assistant_type": "multi_tool", "orchestrator": 5}, "sequential"),
    ],
)
def test_the_orchestrator_is_the_strategy(metadata: dict[str, Any], strategy: str) -> None:
    assert read(**metadata).strategy == strategy


def test_switches_are_on_only_if_they_are_true() -> None:
    assistant = read(
        verbose=True, cite_sources="yes", capabilities={"vision": True, "image_generation": 1}
    )

    assert assistant.verbose
    assert not assistant.cite_sources
    assert assistant.capabilities.vision
    assert not assistant.capabilities.image_generation


def test_members_that_the_contract_does_not_model_travel_as_text() -> None:
    quota = {"enabled": True, "cost_limit_usd": 5.0, "spent": 2**60 + 1}

    assistant = read(quota=quota, assistant_type="classic", llm="x")

    assert parse(assistant.extra_json) == {"quota": quota, "assistant_type": "classic"}


def test_a_binding_fills_the_contract() -> None:
    config = {"collections": ["1"], "top_k": 3, "threshold": 0.5}

    binding = read_tool(
        slot="1_context", enabled=False, config=config, mode="agent", on_failure="fail", timeout=2.5
    )

    assert (binding.id, binding.tool, binding.mode) == ("a", "simple_rag", pb.MODE_AGENT)
    assert (binding.slot, binding.disabled) == ("1_context", True)
    assert binding.on_failure == pb.FAILURE_POLICY_FAIL
    assert binding.timeout.ToTimedelta().total_seconds() == 2.5
    assert from_struct(binding.config) == config


@pytest.mark.parametrize("timeout", [0, -1, "5", True, None, 1e300])
def test_a_limit_that_is_none_is_not_set(timeout: object) -> None:
    assert not read_tool(timeout=timeout).HasField("timeout")


@pytest.mark.parametrize("policy", [None, "x", 5, []])
def test_a_policy_that_is_none_is_not_set(policy: object) -> None:
    assert read_tool(on_failure=policy).on_failure == pb.FAILURE_POLICY_UNSPECIFIED


def test_older_shapes_that_were_stamped_too_early_are_still_read() -> None:
    """Source 000 wrote version 2 on every list of tools, without looking into it."""
    tools = ["weather", {"type": "rubric", "enabled": True, "config": {"rubric_id": "r"}}, 5]

    assistant = read(tools=tools)

    assert [(tool.id, tool.mode) for tool in assistant.tools] == [
        ("weather", pb.MODE_FUNCTION),
        ("rubric", pb.MODE_AUGMENT),
    ]
    assert from_contract(assistant)["tools"] == tools


def test_a_processor_beside_an_empty_list_of_version_2_is_no_tool() -> None:
    metadata = {"_format_version": 2, "tools": [], "rag_processor": "simple_rag"}

    assert not to_contract(convert(metadata, LegacyColumns(3, "1")).metadata, ROW).tools


def test_numbers_that_no_message_holds_become_texts_for_tools_only() -> None:
    assistant = read(tools=[{**TOOL, "config": {"id": 2**53 + 1, "exact": 2**53}}])

    assert from_struct(assistant.tools[0].config) == {"id": str(2**53 + 1), "exact": 2**53}
    assert from_contract(assistant)["tools"][0]["config"]["id"] == 2**53 + 1


def test_the_deepest_configuration_still_crosses_the_wire() -> None:
    config: dict[str, Any] = {}
    for _ in range(MAX_JSON_DEPTH - 3):
        config = {"a": config}
    metadata = {"tools": [{**TOOL, "config": config}]}
    with pytest.raises(MalformedMetadataError):
        checked({"tools": [{**TOOL, "config": {"a": {"a": config}}}]})

    assistant = to_contract(checked(metadata), ROW)

    run = tool_pb2.ExecuteToolsRequest(context=tool_pb2.RunContext(assistant=assistant))
    assert tool_pb2.ExecuteToolsRequest.FromString(run.SerializeToString()) == run
    whole = connector_pb2.GenerateWholeMessageRequest()
    whole.generation.assistant.CopyFrom(assistant)
    sent = whole.SerializeToString()
    assert connector_pb2.GenerateWholeMessageRequest.FromString(sent) == whole


def test_an_edit_through_the_contract_wins_and_loses_nothing_else() -> None:
    entry = {"plugin": "simple_rag", "enabled": True, "config": {"big": 2**60}, "color": "red"}
    metadata = {
        "tools": [entry, "weather"],
        "capabilities": {"vision": True, "audio": True},
        "prompt_processor": "default",
        "verbose": False,
        "quota": {"enabled": True},
    }
    stored = convert(metadata, LegacyColumns()).metadata
    assistant = to_contract(stored, ROW)

    assistant.model.model = "gpt-5"
    assistant.tools[0].disabled = True
    assistant.tools.add(tool="rubric", id="rubric", slot="rubric")
    back = from_contract(assistant)

    first, second, third = back.pop("tools")
    assert first == {**stored["tools"][0], "enabled": False}
    assert second == stored["tools"][1]
    assert third == {
        "id": "rubric",
        "type": "rubric",
        "mode": "augment",
        "enabled": True,
        "slot": "rubric",
        "config": {},
    }
    del stored["tools"]
    assert back == {**stored, "connector": "openai", "llm": "gpt-5"}


def test_a_slot_that_is_taken_away_is_gone() -> None:
    assistant = read(tools=[{**TOOL, "slot": "context", "color": "red"}])

    assistant.tools[0].slot = ""

    assert from_contract(assistant)["tools"] == [{**TOOL, "color": "red"}]


def test_capabilities_that_change_keep_those_that_the_contract_does_not_know() -> None:
    assistant = read(capabilities={"audio": True, "vision": True})

    assistant.capabilities.vision = False

    back = from_contract(assistant)["capabilities"]
    assert back == {"audio": True, "vision": False, "image_generation": False}


def test_entries_that_name_no_tool_outlive_an_edit_of_the_others() -> None:
    assistant = read(tools=[{"note": "to do"}, TOOL])

    assistant.tools[0].disabled = True

    back = from_contract(assistant)
    assert back["tools"] == [{**TOOL, "enabled": False}]
    assert back["_legacy"] == {"tools": [{"note": "to do"}]}


def test_an_assistant_of_the_contract_alone_becomes_a_document() -> None:
    assistant = pb.Assistant(
        title="Tutor",
        model=pb.ModelRef(connector="ollama", model="llama"),
        tools=[pb.ToolBinding(tool="weather", mode=pb.MODE_FUNCTION)],
        strategy="parallel",
        cite_sources=True,
    )

    assert from_contract(assistant) == {
        "_format_version": 2,
        "title": "Tutor",
        "connector": "ollama",
        "llm": "llama",
        "prompt_processor": "",
        "orchestrator": "parallel",
        "cite_sources": True,
        "tools": [{"type": "weather", "mode": "function", "enabled": True, "config": {}}],
    }


def test_extra_text_that_is_no_object_is_refused() -> None:
    with pytest.raises(MalformedMetadataError):
        from_contract(pb.Assistant(extra_json="[]"))
