"""What every tool must fulfil. A new tool is tested here without a line of code."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from heddle.tool.v1 import tool_pb2 as pb
from heddle_tools_service.registry import Installed
from heddle_tools_service.sdk.testing import Check, conformance
from tools_service.serving import discovered

# Heddle's tools, installed ones, and those of a folder: the examples, or an author's.
FOLDER = Path(
    os.environ.get("HEDDLE_TOOLS_PLUGINS_DIR", Path(__file__).parents[2] / "examples/plugins")
)
REGISTRY = discovered(FOLDER)
TOOLS = list(REGISTRY)
CHECKS = [check for installed in TOOLS for check in conformance(installed.tool)]
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
    if REGISTRY.origin(installed.name) != "builtin":
        pytest.skip("only Heddle's tools have agreed definitions")

    golden = GOLDEN / f"{installed.name}.json"

    described = definition(REGISTRY.describe(installed))
    assert described == json.loads(golden.read_text()), f"run {__file__} to write it anew"


def definition(tool: pb.Tool) -> dict[str, Any]:
    described = MessageToDict(tool, preserving_proto_field_name=True)
    for function in described.get("functions", ()):
        function["parameters_schema_json"] = json.loads(function["parameters_schema_json"])
    return {**described, "config_schema_json": json.loads(tool.config_schema_json)}


if __name__ == "__main__":
    for each in discovered(None):
        text = json.dumps(definition(REGISTRY.describe(each)), indent=2)
        (GOLDEN / f"{each.name}.json").write_text(f"{text}\n")
