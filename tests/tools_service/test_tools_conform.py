"""What every tool must fulfil. A new tool is tested here without a line of code."""

import asyncio
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.protobuf.json_format import MessageToDict
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.json_schema import Schema
from heddle_tools_service.conversation import Scene
from heddle_tools_service.models import Query, arguments_schema
from heddle_tools_service.outcomes import in_environment, phrase, result
from heddle_tools_service.registry import Installed, Registry
from heddle_tools_service.sdk import (
    Function,
    ToolCall,
    ToolResult,
)
from heddle_tools_service.yielding import settled
from integration.browser import browser
from tools_service.answering import REMOTE, Answering, Silent
from tools_service.serving import said

# Our own tools, installed ones, and those of a folder: the examples, or an author's.
FOLDER = Path(
    os.environ.get("HEDDLE_TOOLS_PLUGINS_DIR", Path(__file__).parents[2] / "examples/plugins")
)
REGISTRY = Registry.discover(FOLDER)
TOOLS = list(REGISTRY)
GOLDEN = Path(__file__).parents[1] / "golden" / "tools"
IDENTIFIER = re.compile(r"[a-z][a-z0-9_]{0,62}")
CONTEXT = said("What is a shed?", "The gap.", "How wide is it?", owner="ana", identifier="1")
CONTEXT.earlier.add(
    id="0", tool="colqwen_search", text="Page 3 (/v1/vector_stores/vs_1/files/doc_1/pages/3): a"
)


def example(schema: dict[str, Any]) -> dict[str, Any]:
    """Return what a schema's own examples make: a configuration, or a model's arguments."""
    properties = schema.get("properties", {})
    return {name: each["examples"][0] for name, each in properties.items() if "examples" in each}


def without_example(schema: dict[str, Any]) -> set[str]:
    """Return what is required and has no example, which `Field(examples=[...])` gives it."""
    return set(schema.get("required", ())) - example(schema).keys()


def example_arguments(function: Function) -> dict[str, Any]:
    if function.schema == arguments_schema(Query):
        return {"query": "How wide is a shed?"}
    return example(function.schema)


def example_call(installed: Installed) -> pb.FunctionCall | None:
    """Return a model's call of a tool that is for models alone; of others None."""
    if installed.tool.offer is not None:
        return pb.FunctionCall(name=REMOTE.name)
    function = installed.tool.function
    if function is None or "augment" in installed.tool.modes:
        return None
    arguments = json.dumps(example_arguments(function))
    return pb.FunctionCall(name=function.name, arguments_json=arguments)


async def run(
    installed: Installed,
    neighbours: Any,
    status: Callable[[str], None] = lambda _: None,
) -> ToolResult:
    config, violations = installed.configs.read(example(installed.tool.schema))
    assert not violations
    scene = Scene(CONTEXT)
    async with browser() as http:
        call = ToolCall(
            config=config,
            arguments=installed.arguments_of(example_call(installed)),
            query=scene.query,
            assistant=scene.assistant,
            identity=scene.identity,
            earlier=scene.earlier,
            status=lambda message, _=None: status(message),
            http=http,
            knowledge=neighbours,
            catalogue=neighbours,
            graph=neighbours,
            pages=neighbours.pages,
            web=neighbours.web,
            files=neighbours,
            rubrics=neighbours,
            moodle=neighbours,
            weather=neighbours,
            workspace=neighbours,
            servers=neighbours,
            seconds=5,
            build_request=scene.request,
            small_model=neighbours,
        )
        return await settled(installed.name, installed.tool.run(call), call)


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


@pytest.mark.parametrize("installed", TOOLS, ids=lambda installed: installed.name)
class TestEveryTool:
    """Each installed tool."""

    def test_name_and_slot_are_identifiers(self, installed: Installed) -> None:
        assert IDENTIFIER.fullmatch(installed.tool.name)
        assert IDENTIFIER.fullmatch(installed.tool.slot)

    def test_description_is_one_sentence(self, installed: Installed) -> None:
        assert re.fullmatch(r"[A-Z][^.\n]+\.", installed.tool.description)

    def test_schema_is_valid_and_every_option_is_explained(self, installed: Installed) -> None:
        schema = installed.tool.schema
        Schema(schema)
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        assert schema["additionalProperties"] is False
        assert all(option.get("description") for option in schema["properties"].values())

    def test_every_required_option_has_an_example_that_fits(self, installed: Installed) -> None:
        assert not without_example(installed.tool.schema)
        assert Schema(installed.tool.schema).errors(example(installed.tool.schema)) == []

    def test_a_model_is_told_of_every_argument(self, installed: Installed) -> None:
        function = installed.tool.function
        if function is None:
            pytest.skip("models cannot call it")
        Schema(function.schema)
        assert function.schema["additionalProperties"] is False
        assert all(each.get("description") for each in function.schema["properties"].values())

    def test_every_required_argument_has_an_example_that_fits(self, installed: Installed) -> None:
        function = installed.tool.function
        if function is None or "augment" in installed.tool.modes:
            pytest.skip("it runs without arguments")
        given = example_arguments(function)
        assert Schema(function.schema).errors(given) == [], "give each Field(examples=[...])"

    async def test_its_example_runs(self, installed: Installed) -> None:
        said_by_tool: list[str] = []

        try:
            found = await run(installed, Answering(), said_by_tool.append)
        except httpx.TransportError:
            if REGISTRY.describe(installed).origin == "builtin":
                raise
            pytest.skip("the server that it asks is not there")

        sent = result(found, "", installed.tool.slot, 0.1)
        in_environment(sent, found, installed.name)
        assert sent.slot == installed.tool.slot
        assert not sent.warnings
        assert all(status == phrase(status) for status in said_by_tool)

    async def test_it_stops_when_cancelled(self, installed: Installed) -> None:
        if installed.tool.blocking:
            pytest.skip("a thread cannot be cancelled")
        running = asyncio.create_task(run(installed, Silent()))
        await asyncio.sleep(0.05)
        running.cancel()

        done, _ = await asyncio.wait([running], timeout=1)

        assert done

    def test_its_definition_is_as_agreed(self, installed: Installed) -> None:
        if REGISTRY.describe(installed).origin != "builtin":
            pytest.skip("only our own tools have agreed definitions")
        described = definition(REGISTRY.describe(installed))

        golden = GOLDEN / f"{installed.name}.json"

        assert described == json.loads(golden.read_text()), f"run {__file__} to write it anew"


def definition(tool: pb.Tool) -> dict[str, Any]:
    made = MessageToDict(tool, preserving_proto_field_name=True)
    for function in made.get("functions", ()):
        function["parameters_schema_json"] = json.loads(function["parameters_schema_json"])
    return {**made, "config_schema_json": json.loads(tool.config_schema_json)}


if __name__ == "__main__":
    for each in Registry.discover(None):
        text = json.dumps(definition(REGISTRY.describe(each)), indent=2)
        (GOLDEN / f"{each.name}.json").write_text(f"{text}\n")
