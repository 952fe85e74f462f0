"""Threat 23: files of plugins that are broken or malicious when they are imported."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from heddle_runtime.errors import HeddleError, NotFoundError
from threats.tool_service import Attacked, tool_service
from tools_service.serving import said as conversation
from tools_service.serving import text_of

TOOL = '''
from heddle_tools_service.sdk import ToolResult, tool

@tool("{name}", title="Says", slot="{slot}")
async def say(call):
    """{description}"""
    return ToolResult("{file}")
'''
LEGACY = """
from app.tools._registry import ToolPlugin

async def handler(args, ctx, on_status=None):
    return "no"

plugin = ToolPlugin({definition}, handler, lambda ctx: True)
"""


def tool(file: str, name: str, slot: str = "said", description: str = "Says where it is.") -> str:
    return TOOL.format(file=file, name=name, slot=slot, description=description)


FUNCTION = '{"name": "not_json", "description": "No.", "parameters": {"enum": {1, 2}}}'
BROKEN = {
    "syntax_error.py": ("def broken(:\n", "SyntaxError"),
    "exits.py": ("import sys\nsys.exit()\n", "A plugin must not end the process"),
    "ends.py": ("import os\nos._exit(0)\n", "ended while it loaded"),
    "crashes.py": ("import ctypes\nctypes.string_at(0)\n", "ended while it loaded"),
    "eats.py": ("eaten = bytearray(4 << 30)\n", "HEDDLE_TOOLS_PLUGIN_MEMORY_MB"),
    "not_json.py": (
        LEGACY.format(definition=f'{{"type": "function", "function": {FUNCTION}}}'),
        "DefinitionError",
    ),
    "slot.py": (tool("slot.py", "climbing", "../x"), "slot"),
    "long.py": (
        tool("long.py", "long", description="x" * 10_000_000),
        "longer than 1,000 characters",
    ),
    "second.py": (tool("second.py", "first"), "is taken by folder:first.py"),
    "builtin.py": (tool("builtin.py", "word_count"), "is taken by builtin"),
    "reads.py": ("open('/etc/passwd')\n", "httpx for requests"),
    "nonsense.py": ("import os\nos.write(3, b'\\xff' * 100)\n", "ended while it loaded"),
}
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Attacked]:
    folder = tmp_path_factory.mktemp("threat-23")
    files = {name: text for name, (text, _) in BROKEN.items()} | {
        "first.py": tool("first.py", "first")
    }
    async with tool_service(folder, files) as attacked:
        yield attacked


async def test_the_service_starts_and_good_tools_work(service: Attacked) -> None:
    _, mounted = await service.client.run("first", {}, conversation("?"))
    _, own = await service.client.run("word_count", {}, conversation("one two"))

    assert text_of(mounted) == "first.py"
    assert text_of(own) == "The message has 2 words."


@pytest.mark.parametrize("name", BROKEN)
async def test_the_file_is_reported_with_its_problem(service: Attacked, name: str) -> None:
    listed = await service.listed()
    problems = {each.origin: each.message for each in listed.problems}

    assert BROKEN[name][1] in problems[f"folder:{name}"]
    assert len(problems[f"folder:{name}"]) < 10_000
    assert [tool.name for tool in listed.tools if tool.origin != "builtin"] == ["first"]


@pytest.mark.parametrize("name", ["os", "../evil", "first.py", "heddle_tools_service.app"])
async def test_names_in_a_request_load_no_module(service: Attacked, name: str) -> None:
    with pytest.raises(NotFoundError, match="No tool is named"):
        await service.client.run(name, {}, conversation("?"))


@pytest.mark.exhaustive
async def test_an_import_without_end_is_abandoned(tmp_path: Path) -> None:
    files = {"endless.py": "while True:\n    pass\n", "first.py": tool("first.py", "first")}
    async with tool_service(tmp_path, files) as attacked:
        _, mounted = await attacked.client.run("first", {}, conversation("?"))
        listed = await attacked.listed()

    assert text_of(mounted) == "first.py"
    [problem] = listed.problems
    assert problem.origin == "folder:endless.py"
    assert "does not load in time" in problem.message


async def test_a_file_that_fails_after_a_restart_of_its_process_is_an_error(
    tmp_path: Path,
) -> None:
    text = tool("first.py", "first").replace("return", "import os; os._exit(1)\n    return")
    async with tool_service(tmp_path, {"first.py": text}) as attacked:
        with pytest.raises(HeddleError, match="has ended"):
            await attacked.client.run("first", {}, conversation("?"))
        (tmp_path / "plugins" / "first.py").write_text("raise ValueError('changed')\n")
        with pytest.raises(HeddleError, match="does not start any more"):
            await attacked.client.run("first", {}, conversation("?"))
