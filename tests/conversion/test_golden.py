"""Rows as they exist in LAMB's databases, and what becomes of them.

`<row>.legacy.json` is a row, its metadata as an object where that is the text of one. What it is
afterwards, to us, to services and to LAMB's clients, is `<row>.assistant.json`.
`HEDDLE_GOLDEN=write` writes those anew.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from heddle_conversion import (
    LegacyColumns,
    MalformedMetadataError,
    StoredColumns,
    convert,
    dump,
    from_contract,
    parse,
    to_contract,
)
from heddle_migration_service.metadata.legacy_edit import legacy_edit
from heddle_migration_service.metadata.legacy_view import legacy_columns, legacy_view

FOLDER = Path(__file__).parents[1] / "golden" / "migration"
ROWS = sorted(path.name.removesuffix(".legacy.json") for path in FOLDER.glob("*.legacy.json"))


def read(name: str) -> tuple[str | None, LegacyColumns, StoredColumns]:
    row = json.loads((FOLDER / f"{name}.legacy.json").read_text())
    stored = row["api_callback"]
    text = stored if stored is None or isinstance(stored, str) else json.dumps(stored)
    columns = LegacyColumns(row["RAG_Top_k"], row["RAG_collections"])
    known = ("id", "name", "description", "owner", "system_prompt", "prompt_template", "created_at")
    more = {key: row[key] for key in known}
    return text, columns, StoredColumns(**more, organization=row["organization_id"])


def made(name: str) -> dict[str, Any]:
    text, columns, row = read(name)
    try:
        conversion = convert(parse(text), columns)
    except MalformedMetadataError as error:
        return {"error": error.message}
    contract = MessageToDict(
        to_contract(conversion.metadata, row), preserving_proto_field_name=True
    )
    return {
        "metadata": conversion.metadata,
        "notes": list(conversion.notes),
        "contract": contract,
        "legacy_view": legacy_view(conversion.metadata),
    }


@pytest.mark.parametrize("name", ROWS)
def test_a_row_becomes_an_assistant(name: str) -> None:
    found = json.dumps(made(name), indent=2, sort_keys=True) + "\n"

    path = FOLDER / f"{name}.assistant.json"
    if os.environ.get("HEDDLE_GOLDEN") == "write":
        path.write_text(found)
    assert path.read_text() == found


@pytest.mark.parametrize("name", [name for name in ROWS if name != "14_not_json"])
def test_an_old_client_that_saves_what_it_got_changes_nothing(name: str) -> None:
    text, columns, _ = read(name)
    stored = convert(parse(text), columns).metadata

    shown = json.loads(json.dumps(legacy_view(stored)))
    edited = legacy_edit(stored, columns, shown, legacy_columns(stored, columns))

    assert dump(edited) == dump(stored)
    for key in ("prompt_processor", "connector", "llm", "rag_processor"):
        assert shown[key].strip(), "LAMB refuses an update without it"


@pytest.mark.parametrize("name", [name for name in ROWS if name != "14_not_json"])
def test_an_assistant_survives_the_contract(name: str) -> None:
    text, columns, row = read(name)
    stored = convert(parse(text), columns).metadata

    back = from_contract(to_contract(stored, row))

    defaults = {"connector": "openai", "llm": "gpt-4", "prompt_processor": "simple_augment"}
    assert dump(back) == dump(defaults | stored)


def test_the_columns_that_are_shown_are_those_that_were_stored() -> None:
    for name in ROWS:
        text, columns, _ = read(name)
        if name not in ("12_many_tools_by_type", "14_not_json", "02_hierarchical_rag"):
            stored = convert(parse(text), columns).metadata
            assert legacy_columns(stored, columns) == columns
