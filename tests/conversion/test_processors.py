"""The one processor of version 1 as a tool of version 2."""

from typing import Any

import pytest
from heddle_conversion import Conversion, LegacyColumns, convert

NO_TOOL = {"_format_version": 2, "template_syntax": "lamb", "tools": []}
NOTHING = LegacyColumns()


def converted(columns: LegacyColumns = NOTHING, /, **metadata: Any) -> Conversion:
    return convert(metadata, columns)


def only_tool(columns: LegacyColumns = NOTHING, /, **metadata: Any) -> dict[str, Any]:
    (tool,) = converted(columns, **metadata).metadata["tools"]
    assert isinstance(tool, dict)
    return tool


def test_an_old_configuration_becomes_a_list_of_tools() -> None:
    old = {
        "prompt_processor": "simple_augment",
        "connector": "openai",
        "llm": "gpt-4",
        "rag_processor": "simple_rag",
    }
    before = dict(old)

    found = convert(old, LegacyColumns(3, "1"))

    assert [tool["type"] for tool in found.metadata["tools"]] == ["simple_rag"]
    assert found.metadata["tools"][0]["config"] == {"collections": ["1"], "top_k": 3}
    assert old == before


@pytest.mark.parametrize(
    "processor",
    [
        *("simple_rag", "context_aware_rag", "hierarchical_rag"),
        *("knowledge_store_rag", "query_rewriting_ks_rag"),
    ],
)
def test_processors_that_search_keep_their_collections(processor: str) -> None:
    tool = only_tool(LegacyColumns(5, "4, 7,,"), rag_processor=processor)

    assert tool == {
        "id": processor,
        "type": processor,
        "mode": "augment",
        "enabled": True,
        "slot": "context",
        "config": {"collections": ["4", "7"], "top_k": 5},
    }


@pytest.mark.parametrize(
    ("column", "top_k", "notes"),
    [
        *((None, 3, 0), ("", 3, 0), (0, 3, 0), (-2, 3, 0), (1, 1, 0), ("3", 3, 0), (" 7 ", 7, 0)),
        *((20, 20, 0), (21, 20, 1), ("x", 3, 1), (2.0, 2, 0), (2.5, 3, 1), (True, 3, 1)),
        *((10**4000, 20, 1), ("9" * 5000, 3, 1)),
    ],
)
def test_the_number_of_results_is_within_the_tools_bounds(
    column: Any, top_k: int, notes: int
) -> None:
    found = converted(LegacyColumns(column, "1"), rag_processor="simple_rag")

    assert found.metadata["tools"][0]["config"]["top_k"] == top_k
    assert len(found.notes) == notes


@pytest.mark.parametrize(
    ("column", "collections"),
    [
        *((None, []), ("", []), (" , ,", []), ("kb_uuid_1", ["kb_uuid_1"])),
        *(("4, 7,,", ["4", "7"]), (" 1 ", ["1"]), (4, ["4"]), (b"4", [])),
    ],
)
def test_collections_are_split_and_trimmed(column: Any, collections: list[str]) -> None:
    tool = only_tool(LegacyColumns(3, column), rag_processor="simple_rag")

    assert tool["config"]["collections"] == collections


def test_more_collections_than_a_search_may_have_are_cut_with_a_note() -> None:
    column = ",".join(map(str, range(70)))

    found = converted(LegacyColumns(3, column), rag_processor="simple_rag")

    assert found.metadata["tools"][0]["config"]["collections"] == column.split(",")[:64]
    assert len(found.notes) == 1


@pytest.mark.parametrize(
    "processor",
    ["", "  ", None, "no_rag", "No RAG", "no rag", " NO_RAG ", "No-Rag", "no  rag", "No_Rag\n"],
)
def test_no_processor_is_no_tool(processor: object) -> None:
    found = converted(rag_processor=processor)

    assert found.metadata == NO_TOOL
    assert found.notes == ()


def test_missing_keys_are_no_tool() -> None:
    assert converted().metadata == NO_TOOL


@pytest.mark.parametrize("processor", [" simple_rag ", "SIMPLE_RAG", "Simple RAG"])
def test_known_processors_are_known_however_they_are_written(processor: str) -> None:
    assert only_tool(rag_processor=processor)["type"] == "simple_rag"


@pytest.mark.parametrize("rubric_id", ["550e8400-e29b-41d4-a716-446655440000", "x", 42])
def test_a_rubric_keeps_its_id(rubric_id: object) -> None:
    tool = only_tool(rag_processor="rubric_rag", rubric_id=rubric_id, rubric_format="json")

    assert (tool["type"], tool["config"]) == ("rubric", {"rubric_id": rubric_id, "format": "json"})


def test_a_rubric_fills_the_slot_that_old_templates_have() -> None:
    """LAMB put every processor's text at `{context}`; the tool's own slot is `{rubric}`."""
    assert only_tool(rag_processor="rubric_rag", rubric_id="x")["slot"] == "context"
    assert only_tool(rag_processor="single_file_rag", file_path="1/a")["slot"] == "context"


@pytest.mark.parametrize("written", [None, "", "markdown", " Markdown ", "xml", 5])
def test_a_rubric_is_markdown_unless_it_is_json(written: object) -> None:
    found = converted(rag_processor="rubric_rag", rubric_id="x", rubric_format=written)

    assert found.metadata["tools"][0]["config"]["format"] == "markdown"
    assert len(found.notes) == (1 if written in ("xml", 5) else 0)
    assert found.metadata.get("_legacy") == (
        {"rubric_format": written} if written in ("xml", 5) else None
    )


@pytest.mark.parametrize("rubric_id", [None, "", " "])
def test_a_rubric_without_an_id_is_noted(rubric_id: object) -> None:
    found = converted(rag_processor="rubric_rag", rubric_id=rubric_id)

    assert found.metadata["tools"][0]["config"] == {"format": "markdown"}
    assert found.notes == ("The assistant names no rubric.",)


@pytest.mark.parametrize("rubric_id", [0, True, 1.5, ["x"], {"id": 1}])
def test_an_odd_rubric_id_is_set_aside(rubric_id: object) -> None:
    found = converted(rag_processor="rubric_rag", rubric_id=rubric_id)

    assert found.metadata["_legacy"] == {"rubric_id": rubric_id}
    assert len(found.notes) == 1


def test_a_single_file_keeps_its_path() -> None:
    tool = only_tool(rag_processor="single_file_rag", file_path="1/notes.md")

    assert (tool["type"], tool["config"]) == ("single_file", {"file_path": "1/notes.md"})


def test_a_single_file_without_a_path_is_noted() -> None:
    found = converted(rag_processor="single_file_rag", file_path="")

    assert found.metadata["tools"][0]["config"] == {}
    assert found.notes == ("The assistant names no file.",)


def test_an_unknown_processor_passes_through_with_an_empty_configuration() -> None:
    found = converted(LegacyColumns(4, "1"), rag_processor=" owi_rag ", rubric_id="r")

    (tool,) = found.metadata["tools"]
    assert (tool["type"], tool["config"], tool["slot"]) == ("owi_rag", {}, "context")
    assert found.metadata["_legacy"] == {"rubric_id": "r"}
    assert "owi_rag" in found.notes[0]


def test_a_library_file_keeps_its_item_as_configuration_and_as_members() -> None:
    item = {"library_id": "l", "item_id": "i"}

    found = converted(rag_processor="library_file_rag", **item)

    assert found.metadata["tools"][0]["config"] == item
    assert item.items() <= found.metadata.items()
    assert found.notes


def test_a_reference_document_stands_beside_the_processor() -> None:
    old = {"document_rag": "library_file_rag", "library_id": "l", "item_id": "i"}

    found = converted(LegacyColumns(3, "ks"), rag_processor="knowledge_store_rag", **old)

    search, document = found.metadata["tools"]
    assert (search["type"], search["slot"]) == ("knowledge_store_rag", "context")
    assert (document["type"], document["slot"]) == ("library_file_rag", "document")
    assert document["config"] == {"library_id": "l", "item_id": "i"}
    assert old.items() <= found.metadata.items()


def test_one_library_file_as_context_and_as_reference_document_is_bound_twice() -> None:
    item = {"library_id": "l", "item_id": "i"}

    found = converted(rag_processor="library_file_rag", document_rag="library_file_rag", **item)

    assert [(tool["id"], tool["slot"]) for tool in found.metadata["tools"]] == [
        ("library_file_rag", "context"),
        ("library_file_rag_2", "document"),
    ]


@pytest.mark.parametrize("processor", [{"a": 1}, 5, ["simple_rag"], True])
def test_a_processor_of_another_kind_is_set_aside(processor: object) -> None:
    found = converted(rag_processor=processor, file_path="1/a")

    assert found.metadata["tools"] == []
    assert found.metadata["_legacy"] == {"rag_processor": processor, "file_path": "1/a"}
    assert len(found.notes) == 1


def test_what_is_set_aside_does_not_hide_what_is_there() -> None:
    found = converted(rag_processor=5, _legacy="mine")

    assert found.metadata["_legacy"] == "mine"
    assert found.metadata["_legacy_"] == {"rag_processor": 5}


def test_what_forms_write_for_everyone_leaves_no_trace() -> None:
    found = converted(rag_processor="no_rag", file_path="", rubric_id="", rubric_format="markdown")

    assert found.metadata == NO_TOOL


def test_old_keys_leave_and_all_others_stay() -> None:
    others = {
        "quota": {"enabled": True, "cost_limit_usd": 5.0},
        "capabilities": {"vision": True},
        "assistant_type": "classic",
        "orchestrator": "sequential",
        "verbose": False,
        "connector": "openai_tools",
        "prompt_processor": "default_processor",
        "llm": None,
        "": [],
    }
    old = {
        "rag_processor": "rubric_rag",
        "rubric_id": "r",
        "rubric_format": "json",
        "file_path": "",
    }

    found = converted(**old, **others)

    assert not found.metadata.keys() & old.keys()
    assert others.items() <= found.metadata.items()


def test_sources_are_listed_as_before() -> None:
    assert converted(rag_processor="simple_rag").metadata["cite_sources"] is True
    assert converted(rag_processor="simple_rag", cite_sources=0).metadata["cite_sources"] == 0
    assert "cite_sources" not in converted(rag_processor="no_rag").metadata


def test_columns_say_nothing_any_more_after_the_conversion() -> None:
    first = converted(LegacyColumns(3, "1"), rag_processor="simple_rag").metadata

    assert convert(first, LegacyColumns(9, "2")).metadata == first
