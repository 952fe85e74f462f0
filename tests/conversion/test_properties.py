"""What holds for any metadata whatever."""

import copy
import json
from typing import Any

from conversion.documents import COLUMNS, JSON, METADATA, STAMPED
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_conversion import (
    LegacyColumns,
    StoredColumns,
    convert,
    dump,
    from_contract,
    to_contract,
)
from heddle_migration_service.metadata.legacy_edit import legacy_edit
from heddle_migration_service.metadata.legacy_view import legacy_columns, legacy_view
from hypothesis import given
from hypothesis import strategies as st

LEGACY_KEYS = {"rag_processor", "rubric_id", "rubric_format", "file_path"}
ANY = METADATA | STAMPED
ROW = StoredColumns(7, "7_tutor")


@given(ANY, COLUMNS)
def test_any_metadata_converts_and_stays_as_it_was(
    metadata: dict[str, Any], columns: LegacyColumns
) -> None:
    before = copy.deepcopy(metadata)

    found = convert(metadata, columns)

    assert dump(metadata) == dump(before)
    assert found.to_version == 2
    assert json.loads(dump(found.metadata))


@given(ANY, COLUMNS, COLUMNS)
def test_converting_again_changes_nothing(
    metadata: dict[str, Any], columns: LegacyColumns, later: LegacyColumns
) -> None:
    once = convert(metadata, columns).metadata

    assert dump(convert(once, later).metadata) == dump(once)


@given(METADATA, COLUMNS)
def test_converting_what_was_converted_as_if_it_were_not_changes_nothing(
    metadata: dict[str, Any], columns: LegacyColumns
) -> None:
    once = convert(metadata, columns).metadata
    if not isinstance(once.get("document_rag"), str):  # bound anew otherwise
        again = convert({**once, "_format_version": 1}, columns).metadata

        assert dump(again) == dump(once)


@given(METADATA, COLUMNS)
def test_no_member_is_lost_and_none_that_is_unrelated_changes(
    metadata: dict[str, Any], columns: LegacyColumns
) -> None:
    found = convert(metadata, columns).metadata

    assert not LEGACY_KEYS & found.keys()
    kept = {key: value for key, value in metadata.items() if key not in {*LEGACY_KEYS, "tools"}}
    assert dump({key: found[key] for key in kept}) == dump(kept)


@given(METADATA, COLUMNS)
def test_bindings_have_the_normal_form(metadata: dict[str, Any], columns: LegacyColumns) -> None:
    tools = convert(metadata, columns).metadata["tools"]

    ids = [tool["id"] for tool in tools]
    assert len(ids) == len(set(ids))
    for tool in tools:
        assert tool["id"]
        assert tool["type"].strip() == tool["type"] != ""
        assert tool["mode"] in ("augment", "function", "agent")
        assert isinstance(tool["enabled"], bool)
        assert isinstance(tool["config"], dict)
        assert tool.get("slot", "x")


def strings(value: object) -> set[str]:
    """Return every text, and every number as one, in a value."""
    match value:
        case dict():
            return {text for inner in value.values() for text in strings(inner)}
        case list():
            return {text for inner in value for text in strings(inner)}
        case str():
            return {value}
        case bool() | None:
            return set()
        case _:
            return {json.dumps(value)}


@given(JSON, JSON, JSON)
def test_odd_values_of_old_keys_are_kept_somewhere(
    tools: object, processor: object, rubric: object
) -> None:
    metadata = {"tools": tools, "rag_processor": processor, "rubric_id": rubric}

    found = strings(convert(metadata, LegacyColumns()).metadata)

    known = {text.strip() for text in found} | found
    lost = {text for text in strings(metadata) if text not in known and text.strip() not in known}
    assert all(not text.strip() for text in lost)


@given(ANY, COLUMNS)
def test_an_old_client_that_saves_what_it_got_changes_nothing(
    metadata: dict[str, Any], columns: LegacyColumns
) -> None:
    stored = convert(metadata, columns).metadata
    before = dump(stored)
    shown = json.loads(dump(legacy_view(stored)))

    for body_columns in (legacy_columns(stored, columns), LegacyColumns()):
        assert dump(legacy_edit(stored, columns, shown, body_columns)) == before
    assert dump(legacy_edit(stored, columns, None, LegacyColumns())) == before
    assert dump(stored) == before
    for key in ("prompt_processor", "connector", "llm", "rag_processor"):
        assert isinstance(shown[key], str)
        assert shown[key].strip()


@given(ANY, METADATA, COLUMNS, COLUMNS)
def test_any_edit_leaves_a_document_that_can_be_read(
    metadata: dict[str, Any],
    body: dict[str, Any],
    columns: LegacyColumns,
    body_columns: LegacyColumns,
) -> None:
    stored = convert(metadata, columns).metadata
    before = dump(stored), dump(body)

    edited = legacy_edit(stored, columns, body, body_columns)

    assert (dump(stored), dump(body)) == before
    assert edited["_format_version"] == stored["_format_version"]
    again = legacy_edit(edited, columns, legacy_view(edited), LegacyColumns())
    assert dump(again) == dump(edited)
    to_contract(edited, ROW).SerializeToString()


@given(ANY, COLUMNS)
def test_the_contract_brings_back_what_it_was_given(
    metadata: dict[str, Any], columns: LegacyColumns
) -> None:
    stored = convert(metadata, columns).metadata

    sent = to_contract(stored, ROW).SerializeToString()
    back = from_contract(pb.Assistant.FromString(sent))

    defaults = {
        "connector": "openai",
        "llm": "gpt-4",
        "prompt_processor": "simple_augment",
        "tools": [],
    }
    assert dump(back) == dump(defaults | stored)


@given(st.text(), METADATA)
def test_any_row_becomes_a_message(text: str, metadata: dict[str, Any]) -> None:
    row = StoredColumns(text + "\ud800", text, text, text, text, text, "\udfff" + text, 2**70)

    assistant = to_contract(metadata, row)

    assert assistant.prompt_template == "\ufffd" + text
    assert pb.Assistant.FromString(assistant.SerializeToString()) == assistant
