"""The shapes of `metadata.tools` in the wild as bindings."""

from typing import Any

import pytest
from heddle_conversion import Conversion, LegacyColumns, convert
from heddle_conversion.bindings import fillable
from heddle_orchestrator.prompts.template import Template
from hypothesis import given
from hypothesis import strategies as st

COLUMNS = LegacyColumns(3, "4, 7")


def converted(tools: object, **metadata: Any) -> Conversion:
    return convert({"tools": tools, **metadata}, COLUMNS)


def binding(tools: object, **metadata: Any) -> dict[str, Any]:
    (found,) = converted(tools, **metadata).metadata["tools"]
    assert isinstance(found, dict)
    return found


def test_names_become_functions() -> None:
    assert binding(["weather"]) == {
        "id": "weather",
        "type": "weather",
        "mode": "function",
        "enabled": True,
        "config": {},
    }


def test_functions_and_the_processor_beside_them_are_both_kept() -> None:
    tools = converted(["weather", "moodle"], rag_processor="simple_rag").metadata["tools"]

    assert [(tool["type"], tool["mode"]) for tool in tools] == [
        ("simple_rag", "augment"),
        ("weather", "function"),
        ("moodle", "function"),
    ]
    assert tools[0]["config"] == {"collections": ["4", "7"], "top_k": 3}


def test_an_empty_list_does_not_switch_the_processor_off() -> None:
    assert binding([], rag_processor="simple_rag")["type"] == "simple_rag"


@pytest.mark.timeout(30)  # minutes if each looked at all numbers before its own
def test_thousands_of_one_kind_are_numbered_as_fast_as_they_are_read() -> None:
    entries: list[object] = [{"type": "clock", "id": "clock_3"}, *["clock"] * 50_000]

    tools = converted(entries).metadata["tools"]

    assert [tool["id"] for tool in tools[:4]] == ["clock_3", "clock", "clock_2", "clock_4"]
    assert tools[-1]["id"] == "clock_50001"


def test_typed_entries_keep_their_members() -> None:
    config = {"collections": ["a"], "top_k": 5, "threshold": 0.3}

    found = binding([{"type": "simple_rag", "enabled": False, "config": config, "note": [1]}])

    assert found == {
        "id": "simple_rag",
        "type": "simple_rag",
        "mode": "augment",
        "enabled": False,
        "config": config,
        "note": [1],
    }


def test_plugins_keep_their_numbered_slots() -> None:
    found = converted(
        [
            {"plugin": "simple_rag", "placeholder": "1_context", "config": {"top_k": 3}},
            {"plugin": "simple_rag", "placeholder": "2_context", "enabled": False},
            {"plugin": "rubric_rag", "placeholder": "{3_rubric}"},
            {"plugin": "single_file_rag"},
        ]
    )

    tools = found.metadata["tools"]
    assert [(tool["id"], tool["slot"], tool["enabled"]) for tool in tools] == [
        ("simple_rag", "1_context", True),
        ("simple_rag_2", "2_context", False),
        ("rubric", "3_rubric", True),
        ("single_file", "context", True),
    ]
    assert not any("plugin" in tool or "placeholder" in tool for tool in tools)
    assert found.notes == ()


@given(st.text(st.sampled_from("{} ab1_-éA"), max_size=70) | st.just("user_input"))
def test_a_slot_is_a_name_that_templates_fill(placeholder: str) -> None:
    found = binding([{"plugin": "x", "placeholder": placeholder}])

    if "slot" in found:
        assert Template(f"{{{found['slot']}}}").slots() == [found["slot"]]
        assert found["slot"] in placeholder
    else:
        assert found["placeholder"] == placeholder
        assert not fillable(placeholder)


@pytest.mark.parametrize("placeholder", ["my context", "7", "a-b", "user_input", "é", 5, ["x"]])
def test_a_placeholder_that_no_template_can_name_stays_beside_the_tools_own_slot(
    placeholder: object,
) -> None:
    found = converted([{"plugin": "x", "placeholder": placeholder}])

    assert found.metadata["tools"][0]["placeholder"] == placeholder
    assert "slot" not in found.metadata["tools"][0]
    assert len(found.notes) == 1


@pytest.mark.parametrize(
    ("entry", "config"),
    [
        ({"type": "assistant", "assistant_id": 7, "name": "e"}, {"assistant_id": 7}),
        ({"type": "knowledge_base", "kb_id": "4", "name": "e"}, {"kb_id": "4"}),
    ],
)
def test_assistants_and_knowledge_bases_as_tools_are_functions(
    entry: dict[str, Any], config: dict[str, Any]
) -> None:
    found = converted([entry])

    (tool,) = found.metadata["tools"]
    assert (tool["mode"], tool["config"], tool["name"]) == ("function", config, "e")
    assert len(found.notes) == 1


def test_ids_are_kept_where_they_are_unique_and_made_where_they_are_not() -> None:
    tools = [
        {"type": "a"},
        {"type": "b", "id": "a"},
        {"type": "b", "id": "a"},
        {"type": "a", "id": 5},
        "a",
        {"type": "b", "id": ""},
    ]

    found = converted(tools)

    ids = [tool["id"] for tool in found.metadata["tools"]]
    assert ids == ["a_2", "a", "b", "a_3", "a_4", "b_2"]


def test_ids_of_collections_become_texts_and_numbers_of_results_fit() -> None:
    found = converted([{"type": "simple_rag", "config": {"collections": [4, "7"], "top_k": 50}}])

    assert found.metadata["tools"][0]["config"] == {"collections": ["4", "7"], "top_k": 20}
    assert len(found.notes) == 1


def test_members_of_the_wrong_kind_are_set_aside() -> None:
    odd = {"type": 5, "mode": "x", "enabled": "yes", "config": [1], "id": [], "slot": "a b"}

    found = converted([{"plugin": "glossary", **odd}])

    assert found.metadata["tools"] == [
        {
            "id": "glossary",
            "type": "glossary",
            "mode": "augment",
            "enabled": True,
            "config": {},
            "_legacy": odd,
        }
    ]
    assert len(found.notes) == 1


@pytest.mark.parametrize("tools", ["x", 5, True, {"type": "simple_rag"}])
def test_tools_that_are_no_list_are_set_aside(tools: object) -> None:
    found = converted(tools)

    expected = {"_format_version": 2, "template_syntax": "lamb", "tools": []}
    assert found.metadata == {**expected, "_legacy": {"tools": tools}}
    assert len(found.notes) == 1


def test_entries_that_name_no_tool_are_set_aside() -> None:
    odd: list[Any] = [
        5,
        None,
        "",
        " ",
        {},
        {"type": ""},
        {"type": 7, "config": {"a": 1}},
        ["weather"],
    ]

    found = converted([*odd, "weather"])

    assert [tool["type"] for tool in found.metadata["tools"]] == ["weather"]
    assert found.metadata["_legacy"] == {"tools": odd}


def test_a_processor_that_repeats_a_tool_is_not_bound_twice() -> None:
    """Source 000 writes both, the old key for older readers."""
    entry = {"type": "simple_rag", "config": {"collections": ["a"]}}

    found = converted([entry, {"type": "rubric", "config": {}}], rag_processor="simple_rag")

    assert [tool["id"] for tool in found.metadata["tools"]] == ["simple_rag", "rubric"]
    assert found.metadata["tools"][0]["config"] == {"collections": ["a"], "top_k": 3}
    assert "cite_sources" not in found.metadata


def test_a_tool_that_was_to_be_filled_in_is_filled_in() -> None:
    """Source 000's own conversion left `{}` where collections belong."""
    found = binding([{"type": "simple_rag", "config": {}}], rag_processor="simple_rag")

    assert found["config"] == {"collections": ["4", "7"], "top_k": 3}


def test_an_old_value_that_the_tool_contradicts_is_set_aside() -> None:
    entry = {"type": "rubric", "config": {"rubric_id": "new"}}

    found = converted([entry], rag_processor="rubric_rag", rubric_id="old", rubric_format="json")

    assert found.metadata["tools"][0]["config"] == {"rubric_id": "new", "format": "json"}
    assert found.metadata["_legacy"] == {"rubric_id": "old"}


def test_two_tools_on_one_slot_are_noted() -> None:
    entries = [{"plugin": name, "placeholder": "context"} for name in ("simple_rag", "glossary")]

    assert converted(entries).notes == ("Several tools fill {context}; their texts are joined.",)


def test_more_tools_than_an_assistant_can_have_are_all_kept_and_noted() -> None:
    found = converted([f"f{number}" for number in range(70)])

    assert len(found.metadata["tools"]) == 70
    assert len(found.notes) == 1
