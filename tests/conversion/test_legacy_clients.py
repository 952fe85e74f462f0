"""What LAMB's clients see of a document of version 2, and what their edits do to it."""

from typing import Any

import pytest
from heddle_conversion import LegacyColumns, MalformedMetadataError, NewerFormatError, convert, dump
from heddle_migration_service.metadata.legacy_edit import legacy_edit, legacy_new
from heddle_migration_service.metadata.legacy_view import legacy_columns, legacy_view

COLUMNS = LegacyColumns(5, "1,2")
NOTHING = LegacyColumns()
RAG = {
    "prompt_processor": "simple_augment",
    "connector": "openai",
    "llm": "gpt-4o-mini",
    "rag_processor": "simple_rag",
    "file_path": "",
    "quota": {"enabled": True, "cost_limit_usd": 5.0},
}


def stored(**metadata: Any) -> dict[str, Any]:
    return convert({**RAG, **metadata}, COLUMNS).metadata


def edit(
    document: dict[str, Any], columns: LegacyColumns = NOTHING, /, **changes: Any
) -> dict[str, Any]:
    """Save what a client was shown with `changes`."""
    return legacy_edit(document, COLUMNS, {**legacy_view(document), **changes}, columns)


def test_the_view_has_the_keys_that_an_update_must_carry() -> None:
    view = legacy_view({"_format_version": 2, "tools": []})

    assert view == {
        "_format_version": 2,
        "tools": [],
        "prompt_processor": "simple_augment",
        "connector": "openai",
        "llm": "gpt-4",
        "rag_processor": "no_rag",
        "file_path": "",
    }


@pytest.mark.parametrize(
    "old",
    [
        {"rag_processor": "hierarchical_rag", "file_path": ""},
        {
            "rag_processor": "rubric_rag",
            "rubric_id": "r",
            "rubric_format": "json",
            "file_path": "",
        },
        {"rag_processor": "single_file_rag", "file_path": "1/notes.md"},
        {"rag_processor": "owi_rag", "file_path": "", "rubric_id": "r"},
        {"rag_processor": "no_rag", "file_path": "1/kept", "rubric_id": "r"},
    ],
)
def test_the_view_tells_the_old_keys_as_they_were(old: dict[str, Any]) -> None:
    view = legacy_view(stored(**old))

    assert {key: view.get(key) for key in old} == old
    assert "rubric_format" in view or "rubric_format" not in old


def test_a_removed_tool_does_not_come_back() -> None:
    leftover = {**RAG, "_format_version": 2, "tools": []}

    assert legacy_view(leftover)["rag_processor"] == "no_rag"


@pytest.mark.parametrize(
    "tools",
    [
        ["weather"],
        [{"type": "simple_rag", "enabled": False}],
        [{"type": "simple_rag", "slot": "1_context"}],
        [{"type": "simple_rag", "mode": "function"}],
        [{"type": "no_tool", "slot": "context"}],
        [{"type": "glossary"}],
        5,
    ],
)
def test_tools_that_no_processor_ever_was_are_not_shown_as_one(tools: object) -> None:
    assert legacy_view({"_format_version": 2, "tools": tools})["rag_processor"] == "no_rag"


def test_columns_tell_what_the_tool_searches_by_now() -> None:
    document = stored()
    assert legacy_columns(document, COLUMNS) == COLUMNS
    assert legacy_columns(stored(rag_processor="no_rag"), COLUMNS) == COLUMNS

    document["tools"][0]["config"] = {"collections": ["9", "10"], "top_k": 5}

    assert legacy_columns(document, COLUMNS) == LegacyColumns(5, "9,10")


def test_columns_with_blanks_are_shown_as_they_were_written() -> None:
    columns = LegacyColumns("5", " 1, 2,,")

    assert legacy_columns(stored(), columns) == columns


def test_an_unrelated_edit_touches_nothing_else() -> None:
    document = stored(tools=["weather"])

    edited = edit(document, llm="gpt-5", new_member=[1])

    assert edited == {**document, "llm": "gpt-5", "new_member": [1]}


def test_members_that_the_body_lacks_stay_and_null_removes() -> None:
    document = stored(capabilities={"vision": True})

    edited = legacy_edit(document, COLUMNS, {"llm": "gpt-5", "capabilities": None}, NOTHING)

    assert edited.pop("llm") == "gpt-5"
    del document["llm"], document["capabilities"]
    assert edited == document


def test_a_changed_processor_replaces_its_binding_alone() -> None:
    document = stored(tools=["weather", {"type": "glossary", "config": {"a": 1}}])

    edited = edit(document, rag_processor="rubric_rag", rubric_id="r", rubric_format="json")

    rubric, *others = edited["tools"]
    assert rubric == {
        "id": "rubric",
        "type": "rubric",
        "mode": "augment",
        "enabled": True,
        "slot": "context",
        "config": {"rubric_id": "r", "format": "json"},
    }
    assert others == document["tools"][1:]
    assert edited["quota"] == document["quota"]


def test_a_processor_that_comes_searches_what_the_columns_say() -> None:
    document = stored(rag_processor="no_rag")

    for columns, collections in ((NOTHING, ["1", "2"]), (LegacyColumns(None, "8"), ["8"])):
        edited = edit(document, columns, rag_processor="context_aware_rag")
        (tool,) = edited["tools"]
        assert (tool["type"], tool["config"]) == (
            "context_aware_rag",
            {"collections": collections, "top_k": 5},
        )
        assert edited["cite_sources"] is True


@pytest.mark.parametrize("processor", ["no_rag", "No RAG", "", None])
def test_a_processor_that_goes_takes_its_binding_along(processor: object) -> None:
    document = stored(tools=["weather"])

    assert edit(document, rag_processor=processor)["tools"] == document["tools"][1:]


def test_what_a_processor_leaves_behind_is_still_shown() -> None:
    document = stored(rag_processor="rubric_rag", rubric_id="r", rubric_format="json")

    edited = edit(document, rag_processor="simple_rag")

    assert edited["_legacy"] == {"rubric_id": "r", "rubric_format": "json"}
    assert legacy_view(edited)["rubric_id"] == "r"
    back = edit(edited, rag_processor="rubric_rag")
    assert dump(back) == dump(document)


def test_a_changed_member_changes_one_setting() -> None:
    document = stored(rag_processor="rubric_rag", rubric_id="r", rubric_format="json")
    document["tools"][0] |= {"id": "mine", "on_failure": "fail"}

    (tool,) = edit(document, rubric_id="s")["tools"]

    assert tool == {**document["tools"][0], "config": {"rubric_id": "s", "format": "json"}}


@pytest.mark.parametrize("path", ["", None])
def test_a_path_that_goes_is_gone(path: object) -> None:
    document = stored(rag_processor="single_file_rag", file_path="1/a")
    document["tools"][0]["config"]["max_chars"] = 10

    (tool,) = edit(document, file_path=path)["tools"]

    assert tool["config"] == {"max_chars": 10}


@pytest.mark.parametrize(
    ("columns", "config"),
    [
        (LegacyColumns(7, None), {"collections": ["1", "2"], "top_k": 7}),
        (LegacyColumns(None, "3"), {"collections": ["3"], "top_k": 5}),
        (LegacyColumns(None, ""), {"collections": [], "top_k": 5}),
        (LegacyColumns("5", " 1, 2,"), {"collections": ["1", "2"], "top_k": 5}),
        # Not bounded, so that it can be refused.
        (LegacyColumns(99, "1,2"), {"collections": ["1", "2"], "top_k": 99}),
    ],
)
def test_changed_columns_change_what_is_searched(
    columns: LegacyColumns, config: dict[str, Any]
) -> None:
    document = stored(tools=["weather"])
    document["tools"][0]["config"]["threshold"] = 0.5

    edited = edit(document, columns)

    assert edited["tools"][0]["config"] == {**config, "threshold": 0.5}
    assert edited["tools"][1:] == document["tools"][1:]


def test_changed_columns_of_an_assistant_that_searches_nothing_change_nothing() -> None:
    document = stored(rag_processor="no_rag", tools=["weather"], rubric_id="r")

    assert dump(edit(document, LegacyColumns(7, "9"))) == dump(document)


def test_a_column_that_is_saved_unchanged_does_not_undo_an_edit_by_a_newer_client() -> None:
    document = stored()
    document["tools"][0]["config"]["collections"] = ["9"]

    edited = edit(document, legacy_columns(document, COLUMNS), llm="gpt-5")

    assert edited["tools"] == document["tools"]


def test_a_changed_list_of_tools_wins() -> None:
    document = stored()
    tools = [{"type": "rubric", "config": {"rubric_id": "r"}}]

    edited = edit(document, tools=tools, rag_processor="hierarchical_rag")

    assert [tool["type"] for tool in edited["tools"]] == ["rubric"]


def test_a_list_of_functions_leaves_the_processor_alone() -> None:
    document = stored()

    edited = edit(document, tools=["weather", "moodle"])
    changed = edit(document, tools=["weather"], rag_processor="hierarchical_rag")

    assert edited["tools"][0] == document["tools"][0]
    assert [tool["type"] for tool in edited["tools"]] == ["simple_rag", "weather", "moodle"]
    assert [tool["type"] for tool in changed["tools"]] == ["hierarchical_rag", "weather"]


@pytest.mark.parametrize("tools", [[], None])
def test_an_empty_list_of_tools_removes_them_all(tools: object) -> None:
    assert edit(stored(), tools=tools)["tools"] == []


def test_a_changed_document_replaces_its_binding() -> None:
    old = {"document_rag": "library_file_rag", "library_id": "l", "item_id": "i"}
    document = stored(**old)

    edited = edit(document, item_id="j")
    without = edit(document, document_rag=None)

    search, other = edited["tools"]
    assert search == document["tools"][0]
    assert (other["slot"], other["config"]) == ("document", {"library_id": "l", "item_id": "j"})
    assert [tool["type"] for tool in without["tools"]] == ["simple_rag"]


def test_a_changed_item_changes_the_processor_that_reads_it() -> None:
    document = stored(rag_processor="library_file_rag", library_id="l", item_id="i")

    (tool,) = edit(document, item_id="j")["tools"]

    assert tool["config"] == {"library_id": "l", "item_id": "j"}


def test_an_odd_value_that_was_set_aside_outlives_an_edit() -> None:
    document = stored(rag_processor={"a": 1})

    assert edit(document, file_path="1/a")["_legacy"] == {
        "rag_processor": {"a": 1},
        "file_path": "1/a",
    }
    assert "_legacy" not in edit(document, rag_processor="simple_rag")


@pytest.mark.parametrize("processor", ["simple_rag", "rubric_rag", "no_rag", "owi_rag"])
@pytest.mark.parametrize("stamp", [{}, {"_format_version": None}], ids=["stamped", "unstamped"])
def test_an_exported_assistant_can_be_imported(processor: str, stamp: dict[str, None]) -> None:
    """An export holds the tools, and the old keys that say the same."""
    document = stored(rag_processor=processor, rubric_id="r", tools=["weather"])

    imported = legacy_new({**legacy_view(document), **stamp}, COLUMNS)

    expected = document["tools"], document.get("cite_sources"), document["quota"]
    assert (imported["tools"], imported.get("cite_sources"), imported["quota"]) == expected
    assert not imported.keys() & {"rag_processor", "rubric_id", "rubric_format", "file_path"}


def test_a_new_assistant_of_an_old_client_is_converted() -> None:
    old = {**RAG, "tools": ["weather"]}

    assert dump(legacy_new(old, COLUMNS)) == dump(stored(tools=["weather"]))
    expected = {"_format_version": 2, "template_syntax": "lamb", "tools": []}
    assert legacy_new(None, COLUMNS) == expected


def test_a_client_cannot_change_the_version() -> None:
    assert edit(stored(), _format_version=1)["_format_version"] == 2
    assert edit(stored(), _format_version=None)["_format_version"] == 2


def test_a_body_of_a_newer_release_is_refused() -> None:
    with pytest.raises(NewerFormatError):
        edit(stored(), _format_version=3)


def test_a_body_that_json_cannot_write_is_refused() -> None:
    with pytest.raises(MalformedMetadataError):
        edit(stored(), quota=float("nan"))
