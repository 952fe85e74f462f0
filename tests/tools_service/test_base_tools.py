"""Files with a class that has `_arun`, as agents of an older shape have them."""

import json
from pathlib import Path
from typing import Any

import pytest
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors import HeddleError, InvalidRequestError
from tools_service.serving import discovered, discovering, invocation, outcome, serving, text_of

IMPORT = "from agentsmithy_server.tools import BaseTool\n"
CUSTOM = f"""{IMPORT}
class MyCustomTool(BaseTool):
    name = "my_tool"
    description = "Does something useful"

    async def _arun(self, **kwargs):
        return "did " + ", ".join(sorted(kwargs))
"""
PATCHING = f"""{IMPORT}
from typing import Any, Type
from pydantic import BaseModel, Field

class Change(BaseModel):
    line: int
    reason: str = "none"

class Arguments(BaseModel):
    file_path: str
    changes: list[Change] = Field(min_length=1)

class PatchTool(BaseTool):
    name: str = "old_patch"
    description: str = "Patches\\n  a file."
    args_schema: Type[BaseModel] = Arguments

    async def _arun(self, file_path: str, changes: list[Change]) -> Any:
        await self.emit_event({{"type": "status", "message": "at work"}})
        for change in changes:
            told = {{"file": file_path, "diff": "+x\\n", "reason": change.reason}}
            await self.emit_event({{"type": "patch", **told}})
        return {{"file": file_path, "applied": [change.line for change in changes]}}
"""
SIGNATURE = f"""from __future__ import annotations
{IMPORT}
class Count(BaseTool):
    name, description = "count", "Counts."
    async def _arun(self, word: str, times: int = 2):
        return word * times
"""
FAILING = f"""{IMPORT}
class Sad(BaseTool):
    name, description = "sad", "Fails."
    async def _arun(self):
        raise RuntimeError("password=hunter2")
"""


async def ran(
    folder: Path, text: str, name: str, **arguments: Any
) -> "tuple[list[pb.ToolStatus], pb.ToolResult | HeddleError]":
    (folder / "old.py").write_text(text)
    call = invocation("1", name)
    call.function_call.name, call.function_call.arguments_json = name, json.dumps(arguments)
    async with serving(discovering(folder)) as client:
        events = await client.run_all([call])
    told = [event.status for batch in events for event in batch if event.HasField("status")]
    return told, outcome(events, "1")


def read(found: "pb.ToolResult | HeddleError") -> str:
    assert isinstance(found, pb.ToolResult), found
    return text_of(found)


async def test_a_class_with_a_name_and_arun_is_a_function(tmp_path: Path) -> None:
    _, found = await ran(tmp_path, CUSTOM, "my_tool", b=1, a="x")

    assert read(found) == "did a, b"
    registry = discovered(tmp_path)
    described = registry.description("my_tool")
    [function] = described.functions
    assert (function.name, function.description) == ("my_tool", "Does something useful")
    assert described.category == "legacy"


async def test_its_schema_checks_and_its_events_are_told(tmp_path: Path) -> None:
    changes = [{"line": 3, "reason": "why"}, {"line": 9}]
    told, found = await ran(tmp_path, PATCHING, "old_patch", file_path="a.py", changes=changes)

    assert json.loads(read(found)) == {"file": "a.py", "applied": [3, 9]}
    assert [status.message for status in told] == ["at work", "patch a.py", "patch a.py"]
    first, second = (status.change for status in told[1:])
    assert (first.path, first.diff, first.reason) == ("a.py", "+x\n", "why")
    assert second.reason == "none"

    _, refused = await ran(tmp_path, PATCHING, "old_patch", file_path="a.py", changes=[{}])
    assert isinstance(refused, InvalidRequestError)
    assert [each.field for each in refused.violations] == ["arguments.changes[0].line"]


async def test_without_a_schema_the_parameters_are_the_arguments(tmp_path: Path) -> None:
    _, found = await ran(tmp_path, SIGNATURE, "count", word="ab")
    assert read(found) == "abab"
    for wrong in ({}, {"word": "ab", "times": "x"}, {"word": "ab", "more": 1}):
        _, refused = await ran(tmp_path, SIGNATURE, "count", **wrong)
        assert isinstance(refused, InvalidRequestError), wrong


async def test_what_it_raises_is_a_failure_without_its_words(tmp_path: Path) -> None:
    _, found = await ran(tmp_path, FAILING, "sad")
    assert isinstance(found, HeddleError)
    assert "hunter2" not in found.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CUSTOM.replace('name = "my_tool"', "pass"), "its name cannot be ''"),
        (CUSTOM.replace('"my_tool"', '"My Tool"'), "its name cannot be 'My Tool'"),
        (CUSTOM.replace('"Does something useful"', '""'), "its description is missing"),
        (
            CUSTOM + "    def __init__(self, key): ...\n",
            "MyCustomTool cannot be made without arguments",
        ),
    ],
)
def test_what_is_incomplete_is_told_with_what_to_mend(
    tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "old.py").write_text(text)
    [problem] = discovered(tmp_path).problems
    assert message in problem.message
