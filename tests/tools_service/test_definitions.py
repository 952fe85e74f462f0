"""What authors of tools get wrong is told when the tool is loaded, or at the line that does it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from heddle_tools_service.definitions.checks import CATEGORIES
from heddle_tools_service.sdk import ToolResult, tool
from tools_service.serving import discovered

HEAD = "from heddle_tools_service.sdk import *\nfrom pydantic import BaseModel\n\n"


PLUGIN = """
from app.tools._registry import ToolPlugin

async def handler(arguments, context, on_status):
    return ""

async def never(context):
    return False

plugin = ToolPlugin({"function": {"name": "mine"}}, handler, never)
"""


def mine(options: str = "", parameters: str = "call") -> str:
    return (
        f'@tool("mine", title="Mine"{options})\n'
        f'async def mine({parameters}):\n    """Does."""\n    return ToolResult("")\n'
    )


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (mine(', modes="function"'), "its modes are a text, write modes=('function',)."),
        (mine(parameters=""), "it must take the ToolCall as its first parameter"),
        (
            mine(parameters="call, other"),
            "its parameter 'other' has no type annotation: annotate it with a registered class (As",
        ),
        (
            mine(parameters="call, numbers: list[int]"),
            "its parameter 'numbers' requests 'list', which is not a capability: annotate it with",
        ),
        (
            mine(parameters="call, passages: 'Absent'"),
            "its parameter 'passages' requests 'Absent', which is not a capability",
        ),
        (
            f"async def never(call, other: int):\n    return False\n\n{mine(', available=never')}",
            "of its available: its parameter 'other' requests 'int', which is not a capability",
        ),
        (
            mine(", available=lambda call: True"),
            "its available is not async, write `async def`.",
        ),
        (
            f"async def never(occasion):\n    return False\n\n{mine(', enabled=never')}",
            "its enabled is async, write `def`.",
        ),
        (
            mine(parameters="call: ToolCall[dict]"),
            "tool 'mine' names <class 'dict'>: name a class that derives from ToolConfig",
        ),
        (
            mine(parameters="call: 'ToolCall[None, BaseModel]'"),
            "name a class that derives from ToolArguments",
        ),
        (
            PLUGIN,
            "enabled is async. Make it an ordinary function: def enabled(...).",
        ),
    ],
)
def test_a_definition_that_could_not_work_is_refused_with_the_remedy(
    tmp_path: Path, source: str, message: str
) -> None:
    (tmp_path / "mine.py").write_text(HEAD + source)

    [problem] = discovered(tmp_path).problems

    assert problem.origin == "folder:mine.py"
    assert message in problem.message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"text": None}, "the text of a ToolResult is a str, not NoneType"),
        ({"text": "", "warnings": "careful"}, "a list of sentences, not a str"),
    ],
)
def test_a_result_that_cannot_be_is_refused_where_it_is_made(
    arguments: Mapping[str, Any], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        ToolResult(**arguments)


@pytest.mark.parametrize("category", [*CATEGORIES, "", "search", "Rag", None])
def test_a_tool_has_a_known_category(tmp_path: Path, category: str | None) -> None:
    (tmp_path / "mine.py").write_text(HEAD + mine(f", category={category!r}"))

    registry = discovered(tmp_path)

    names = {installed.name for installed in registry}
    assert ("mine" in names) is (category in CATEGORIES)
    if category not in CATEGORIES:
        assert (
            "use rag, rubric, file, utilities, lms, custom, legacy, teaching, development"
            in registry.problems[0].message
        )


def test_categories_are_those_of_the_design_and_four_of_our_own() -> None:
    design = {"rag", "rubric", "file", "custom", "legacy"}
    assert {*CATEGORIES} == design | {"utilities", "lms", "teaching", "development"}


def test_a_tool_with_an_unknown_effect_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'reads'; use read_only, non_destructive, destructive"):
        tool("look", title="Look", effect="reads")  # type: ignore[arg-type] # a mistake
