"""What a change in LAMB makes of metadata that may have changed in Heddle, too."""

import json
from typing import Any

import pytest
from heddle_conversion import LegacyColumns, convert, dump, parse
from heddle_conversion.merging import RowMetadata
from heddle_migration_service.metadata.followed_edit import followed_edit
from heddle_migration_service.metadata.legacy_edit import legacy_edit
from heddle_migration_service.metadata.legacy_view import legacy_view

RAG: dict[str, Any] = {
    "prompt_processor": "simple_augment",
    "connector": "openai",
    "llm": "gpt-4o-mini",
    "rag_processor": "simple_rag",
}
COLUMNS = LegacyColumns(3, "1,2")
EXTRA = {"type": "calculator", "mode": "function"}


def lamb(metadata: Any = None, columns: LegacyColumns = COLUMNS, **members: Any) -> RowMetadata:
    text = metadata if isinstance(metadata, str) else json.dumps({**RAG, **members})
    return RowMetadata(text, columns)


def migrated(metadata: RowMetadata) -> RowMetadata:
    document = convert(parse(metadata.text), metadata.columns).metadata
    return RowMetadata(dump(document), metadata.columns)


def edited(metadata: RowMetadata, **members: Any) -> RowMetadata:
    document = parse(migrated(metadata).text)
    document = legacy_edit(document, metadata.columns, members, LegacyColumns())
    return RowMetadata(dump(document), metadata.columns)


def with_tool(metadata: RowMetadata, **members: Any) -> RowMetadata:
    tools = [*parse(migrated(metadata).text)["tools"], EXTRA]
    return edited(metadata, tools=tools, **members)


def test_what_was_not_migrated_is_stored_as_lamb_has_it() -> None:
    edit = followed_edit(lamb(), lamb(), lamb("not-json{"))
    assert (edit.text, edit.document, edit.lost) == ("not-json{", None, ())


def test_what_was_only_migrated_becomes_what_a_migration_of_the_new_metadata_is() -> None:
    after = lamb(rag_processor="rubric_rag", rubric_id="r")
    edit = followed_edit(migrated(lamb()), lamb(), after)
    assert (edit.text, edit.lost, edit.is_merged) == (migrated(after).text, (), False)


@pytest.mark.parametrize(
    ("member", "value"), [("llm", "gpt-5"), ("connector", "ollama"), ("own", {"a": 1})]
)
def test_a_member_that_changes_in_lamb_changes_and_the_tools_of_heddle_stay(
    member: str, value: Any
) -> None:
    edit = followed_edit(with_tool(lamb()), lamb(), lamb(**{member: value}))
    document = parse(edit.text)
    assert document[member] == value
    assert [tool["type"] for tool in document["tools"]] == ["simple_rag", "calculator"]
    assert (edit.lost, edit.is_merged) == ((), True)


def test_a_member_that_lamb_removes_is_removed() -> None:
    edit = followed_edit(with_tool(lamb(own=1)), lamb(own=1), lamb())
    assert "own" not in parse(edit.text)


def test_a_member_that_changed_in_heddle_only_stays() -> None:
    edit = followed_edit(edited(lamb(), llm="heddles"), lamb(), lamb(own=1))
    assert parse(edit.text)["llm"] == "heddles"
    assert edit.lost == ()


def test_a_member_that_changed_on_both_sides_is_lambs_and_lost() -> None:
    edit = followed_edit(edited(lamb(), llm="heddles"), lamb(), lamb(llm="lambs"))
    assert parse(edit.text)["llm"] == "lambs"
    assert edit.lost == ("model.model",)


def test_a_member_that_got_one_value_on_both_sides_is_not_lost() -> None:
    edit = followed_edit(edited(lamb(), llm="same"), lamb(), lamb(llm="same"))
    assert edit.lost == ()


def test_a_processor_that_changed_on_both_sides_is_lambs_and_lost() -> None:
    mine = with_tool(lamb(), rag_processor="no_rag")
    mine = RowMetadata(
        dump({**parse(mine.text), "tools": [EXTRA | {"enabled": True, "config": {}}]}), COLUMNS
    )
    after = lamb(rag_processor="rubric_rag", rubric_id="r")
    edit = followed_edit(mine, lamb(), after)
    view = legacy_view(parse(edit.text))
    assert (view["rag_processor"], view["rubric_id"]) == ("rubric_rag", "r")
    assert {tool["type"] for tool in view["tools"]} == {"rubric", "calculator"}
    assert "rag_processor" in edit.lost


def test_an_option_of_the_processor_set_in_heddle_is_lost_with_the_processor() -> None:
    document = parse(migrated(lamb()).text)
    document["tools"][0]["config"]["threshold"] = 0.5
    mine = RowMetadata(dump(document), COLUMNS)
    assert followed_edit(mine, lamb(), lamb(llm="x")).lost == ()
    lost = followed_edit(mine, lamb(), lamb(rag_processor="no_rag")).lost
    assert lost == ("tools[simple_rag].config.threshold",)


def test_collections_of_lamb_reach_the_tool_within_the_bounds_of_a_migration() -> None:
    after = lamb(columns=LegacyColumns(500, "7"))
    config = parse(followed_edit(with_tool(lamb()), lamb(), after).text)["tools"][0]["config"]
    assert config == {"collections": ["7"], "top_k": 20}


def test_functions_that_lamb_adds_and_removes_leave_the_tools_of_heddle() -> None:
    before, after = lamb(tools=["weather", "moodle"]), lamb(tools=["moodle", "clock"])
    document = parse(followed_edit(with_tool(before), before, after).text)
    types = [tool["type"] for tool in document["tools"]]
    assert types == ["simple_rag", "moodle", "calculator", "clock"]


def test_malformed_metadata_of_lamb_replace_edits_of_heddle_which_are_lost() -> None:
    edit = followed_edit(edited(lamb(), llm="heddles"), lamb(), lamb("not-json{"))
    assert (edit.text, edit.lost) == ("not-json{", ("model.model",))


def test_malformed_metadata_that_heddle_repaired_stay_unless_lamb_changes_the_same() -> None:
    before = lamb("not-json{")
    mine = RowMetadata(dump({"_format_version": 2, "llm": "a", "tools": [EXTRA]}), COLUMNS)
    edit = followed_edit(mine, before, lamb())
    document = parse(edit.text)
    assert document["llm"] == "gpt-4o-mini"
    assert "calculator" in {tool["type"] for tool in document["tools"]}
    assert "model.model" in edit.lost


def test_without_knowledge_of_the_past_lamb_wins_and_what_differs_is_lost() -> None:
    edit = followed_edit(with_tool(lamb(), llm="heddles"), None, lamb(llm="lambs"))
    document = parse(edit.text)
    assert document["llm"] == "lambs"
    assert [tool["type"] for tool in document["tools"]] == ["simple_rag", "calculator"]
    assert edit.lost == ("model.model",)
