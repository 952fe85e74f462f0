"""Files of older shapes, as they lie in LAMB installations."""

from pathlib import Path
from typing import Any

import pytest
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors import HeddleError, InvalidRequestError, ToolFailedError
from heddle_tools_service.installed.registry import Registry
from tools_service.serving import discovered, said, serving, text_of

DEFINITION = """
def get_definition():
    return {
        "name": "glossary", "display_name": "Glossary", "description": "Explains terms.",
        "placeholder": "glossary", "category": "custom", "version": "2.1",
        "config_schema": {
            "type": "object", "required": ["terms"], "additionalProperties": False,
            "properties": {"terms": {"type": "array"}, "limit": {"type": "integer", "default": 3}},
        },
    }
"""
DEFINED = """
def get_definition():
    return dict(name="x", description="D.", config_schema={schema})
tool_processor = print
"""
OBJECT = """
from dataclasses import dataclass
@dataclass
class ToolDefinition:
    name: str
    display_name: str
    description: str
    placeholder: str
    config_schema: dict
    version: str = "1.0"
    category: str = "rag"
@dataclass
class Result:
    placeholder: str
    content: str
    sources: list
    metadata: dict = None
    error: str = None
def get_definition():
    return ToolDefinition("objects", "Objects", "Uses objects.", "things", {})
def tool_processor(request, assistant, config):
    return Result("things", "object", [{"title": "T", "url": "/u", "similarity": 0.0, "page": 3}])
"""
SPY = """
import threading
def tool_processor(request, assistant, tool_config):
    return {
        "content": "%s|%s|%s|%s" % (request["messages"][-1]["content"], assistant.owner,
                                    tool_config["limit"], request["user"]),
        "sources": [], "error": None,
        "metadata": {"thread": threading.current_thread().name},
    }
"""


CLASS = """
import lamb.completions.tools.base as base
from lamb.completions.tools.base import BaseTool, ToolDefinition, ToolResult
from lamb.lamb_classes import Assistant

class Glossary(BaseTool):
    def __init__(self):
        self.calls = 0

    @classmethod
    def get_definition(cls) -> ToolDefinition:
        return ToolDefinition("glossary", "Glossary", "Explains terms.", "terms", {})

    def validate_config(self, tool_config):
        return [f"{name} is odd" for name in tool_config]

    def process(self, request, assistant: Assistant, tool_config) -> ToolResult:
        self.calls += 1
        text = f"{request['messages'][-1]['content']}|{assistant.owner}|{self.calls}"
        return base.ToolResult("terms", text, [{"title": "T"}], {"n": 1})
"""


async def run(
    folder: Path, name: str, config: dict[str, Any] | None = None
) -> tuple[Registry, pb.ToolResult]:
    context = said("What is a shed?", owner="ana@example.org", identifier="7")
    context.options.extra_json = '{"user": "u-1"}'
    registry = discovered(folder)
    async with serving(lambda _: registry) as client:
        _, result = await client.run(name, config, context)
    return registry, result


async def test_a_tool_processor_with_a_definition_is_a_tool(tmp_path: Path) -> None:
    (tmp_path / "any_name.py").write_text(DEFINITION + SPY)

    registry, result = await run(tmp_path, "glossary", {"terms": []})

    assert text_of(result) == "What is a shed?|ana@example.org|3|u-1"
    assert result.slot == "glossary"
    assert result.metadata["thread"] == "tool-glossary"  # a blocking function never blocks the loop
    described = registry.description("glossary")
    assert (described.title, described.version) == ("Glossary", "2.1")
    assert (described.category, described.default_slot) == ("custom", "glossary")


async def test_its_configuration_is_checked_against_its_schema(tmp_path: Path) -> None:
    (tmp_path / "any_name.py").write_text(DEFINITION + SPY)

    with pytest.raises(InvalidRequestError, match="No terms configured"):
        await run(tmp_path, "glossary", {})


def test_a_definition_without_category_and_version_has_lambs_defaults(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text(DEFINED.format(schema="{}"))
    registry = discovered(tmp_path)

    described = registry.description("x")

    assert (described.category, described.version) == ("rag", "1.0")


async def test_definition_and_result_may_be_objects(tmp_path: Path) -> None:
    (tmp_path / "objects.py").write_text(OBJECT)

    _, result = await run(tmp_path, "objects")

    assert text_of(result) == "object"
    assert result.slot == "things"
    [source] = result.sources
    assert (source.title, source.uri, source.score) == ("T", "/u", 0.0)
    assert source.HasField("score")
    assert dict(source.attributes) == {"page": "3"}


async def test_a_rag_processor_gets_a_synthetic_definition(tmp_path: Path) -> None:
    (tmp_path / "old_school_rag.py").write_text(
        "def rag_processor(messages, assistant=None):\n"
        "    return {'context': assistant.RAG_collections + str(assistant.RAG_Top_k)\n"
        "            + messages[-1]['content'] + str(assistant.id), 'sources': [{'title': 'S'}]}\n"
    )

    registry, result = await run(tmp_path, "old_school_rag", {"collections": ["4", "7"]})

    described = registry.description("old_school_rag")
    assert (described.title, described.category) == ("Old School Rag", "legacy")
    assert (described.default_slot, described.config_schema_json) == ("context", "{}")
    assert text_of(result) == "4,73What is a shed?7"
    assert result.slot == "context"
    assert [source.title for source in result.sources] == ["S"]


@pytest.mark.parametrize(
    ("body", "text", "slot", "warnings"),
    [
        ("{'content': 'c'}", "c", "context", []),
        ("{'placeholder': 'mine', 'content': 'c', 'sources': []}", "c", "mine", []),
        ("{'placeholder': '../x', 'content': 'c'}", "c", "context", ["The slot that the tool"]),
        ("{'content': 'half', 'error': 'one failed'}", "half", "context", ["one failed"]),
        ("{'content': '', 'sources': [], 'error': None}", "", "context", []),
        ("{'content': None, 'error': ''}", "", "context", []),
    ],
)
@pytest.mark.parametrize("keyword", ["def", "async def"])
async def test_a_dict_is_a_result(
    tmp_path: Path, keyword: str, body: str, text: str, slot: str, warnings: list[str]
) -> None:
    (tmp_path / "plain.py").write_text(f"{keyword} tool_processor(r, a, c):\n    return {body}\n")

    _, result = await run(tmp_path, "plain")

    assert text_of(result) == text
    assert result.slot == slot
    assert len(result.warnings) == len(warnings)
    assert all(map(str.startswith, result.warnings, warnings))


async def test_an_error_without_content_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "sad.py").write_text(
        "def tool_processor(r, a, c):\n"
        "    return {'content': '', 'error': 'No key sk-abcdefghijklmnop'}\n"
    )

    with pytest.raises(ToolFailedError) as caught:
        await run(tmp_path, "sad")

    assert caught.value.message == "No key [redacted]"


@pytest.mark.parametrize("body", ["None", "'text'", "{}", "[1]"])
async def test_what_is_no_result_fails_typed(tmp_path: Path, body: str) -> None:
    (tmp_path / "odd.py").write_text(f"def tool_processor(r, a, c):\n    return {body}\n")

    with pytest.raises(HeddleError, match="The tool 'odd' failed"):
        await run(tmp_path, "odd")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (DEFINITION, "has get_definition() but no tool_processor(request, assistant, config)"),
        ("def get_definition(): return {}\ntool_processor = print", "tells no 'name'. Add it."),
        (
            "def get_definition(): return {'name': 'x'}\ntool_processor = print",
            "its description is missing, write one",
        ),
        (
            DEFINED.format(schema="{'type': 'x'}"),
            "The config_schema is not JSON Schema 2020-12, see type",
        ),
        (
            DEFINED.format(schema="'text'"),
            "The config_schema is not a JSON object",
        ),
        ("async def get_definition(): ...\ntool_processor = print", "is async"),
    ],
)
def test_an_incomplete_definition_is_told_with_what_to_mend(
    tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "incomplete.py").write_text(text)

    [problem] = discovered(tmp_path).problems

    assert message in problem.message


@pytest.mark.parametrize("begin", ["def process", "async def process"])
async def test_a_class_of_lambs_base_is_a_tool_that_checks_its_configuration(
    tmp_path: Path, begin: str
) -> None:
    (tmp_path / "any_name.py").write_text(CLASS.replace("def process", begin))
    await run(tmp_path, "glossary")
    registry, result = await run(tmp_path, "glossary")
    assert text_of(result) == "What is a shed?|ana@example.org|1", "each call has its own object"
    assert (result.slot, result.sources[0].title) == ("terms", "T")
    assert registry.description("glossary").title == "Glossary"
    with pytest.raises(InvalidRequestError) as failure:
        await run(tmp_path, "glossary", {"depth": 1})
    assert [each.description for each in failure.value.violations] == ["depth is odd"]
