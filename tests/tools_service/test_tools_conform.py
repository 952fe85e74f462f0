"""What every tool must fulfil. A new tool is tested here without a line of code."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import pytest
from google.protobuf.json_format import MessageToDict
from heddle.tool.v1 import tool_pb2 as pb
from heddle_tools_service.installed.tool import Installed
from heddle_tools_service.sdk.models import InputKind
from heddle_tools_service.testing import Check, conformance
from tools_service.serving import discovered

# Heddle's tools, installed ones, and those of a folder: the examples, or an author's.
FOLDER = Path(
    os.environ.get("HEDDLE_TOOLS_PLUGINS_DIR", Path(__file__).parents[2] / "examples/plugins")
)
REGISTRY = discovered(FOLDER)
TOOLS = list(REGISTRY)
CHECKS = [check for installed in TOOLS for check in conformance(installed.tool)]
LANGUAGES = ("ca", "es", "eu")
MAX_LABEL_CHARS = 24
WRITE = "PYTHONPATH=tests .venv/bin/python -m tools_service.test_tools_conform"
GOLDEN = Path(__file__).parents[1] / "golden" / "tools"


def test_nothing_was_skipped() -> None:
    assert REGISTRY.problems == ()
    assert {tool.name for tool in TOOLS} >= {
        *("query_documents_metadata", "graph_search"),
        *("simple_rag", "context_aware_rag", "hierarchical_rag"),
        *("rubric", "single_file", "no_tool", "word_count"),
        *("weather", "moodle", "moodle_assignments", "moodle_user"),
        *("fast_vector_search", "hybrid_search", "retrieve_documents", "deep_analysis"),
        *("colqwen_search", "visual_interpretation"),
        *("mcp", "web_search"),
        *("patch_file", "read_file", "list_files", "search_files", "restore_file", "current_file"),
    }


@pytest.mark.parametrize("check", CHECKS, ids=str)
def test_every_tool_passes_every_check(check: Check) -> None:
    check()


@pytest.mark.parametrize("installed", TOOLS, ids=lambda installed: installed.name)
def test_a_definition_is_as_agreed(installed: Installed) -> None:
    if REGISTRY.description(installed.name).origin != "builtin":
        pytest.skip("only Heddle's tools have agreed definitions")

    golden = GOLDEN / f"{installed.name}.json"

    described = definition(REGISTRY.description(installed.name))
    agreed = json.loads(golden.read_text()) if golden.exists() else None
    assert described == agreed, f"`{WRITE}` writes {golden.name} anew"


@pytest.mark.parametrize("installed", TOOLS, ids=lambda installed: installed.name)
def test_heddles_tools_speak_to_people_in_each_language(installed: Installed) -> None:
    if REGISTRY.description(installed.name).origin != "builtin":
        pytest.skip("only Heddle's tools must have titles and translations")

    tool = REGISTRY.description(installed.name)
    schema = json.loads(tool.config_schema_json)
    assert 0 < len(tool.label) <= MAX_LABEL_CHARS
    where = "add the English text and its translation to tools/translations/LANGUAGE.json"
    assert texts_without_translation(schema, ("title", "description", "label")) == [], where
    for name, option in schema.get("properties", {}).items():
        assert option.get("title"), f"{name} has no title"
        assert option.get("description"), f"{name} has no description"
        assert texts_without_translation(option, ("title", "description")) == [], f"{name}: {where}"
        assert option.get("x-heddle-input", "file") in get_args(InputKind)
        if name == "collections":
            assert option["x-heddle-input"] == "collections"


def texts_without_translation(schema: dict[str, Any], names: Sequence[str]) -> list[str]:
    """Return the languages and texts that have no translation."""
    known = schema.get("x-heddle-i18n", {})
    return [
        f"{language} {name}"
        for language in LANGUAGES
        for name in names
        if not known.get(language, {}).get(name)
    ]


def definition(tool: pb.Tool) -> dict[str, Any]:
    described = MessageToDict(tool, preserving_proto_field_name=True)
    for function in described.get("functions", ()):
        function["parameters_schema_json"] = json.loads(function["parameters_schema_json"])
    return {**described, "config_schema_json": json.loads(tool.config_schema_json)}


if __name__ == "__main__":
    for each in discovered(None):
        text = json.dumps(definition(REGISTRY.description(each.name)), indent=2)
        (GOLDEN / f"{each.name}.json").write_text(f"{text}\n")
