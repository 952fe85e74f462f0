"""Tools of somebody's own: one file each, and the conformance tests run on them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFORMANCE = Path(__file__).with_name("test_tools_conform.py")
SEARCHING = '''"""Models alone call it, and it has no arguments of its own."""

from heddle_tools_service.sdk import Response, Status, tool


@tool("searching", title="Searching", modes=("function", "agent"))
async def searching(call):
    """Searches."""
    yield Status("searching")
    yield Response(f"Nothing about {call.query}.")
'''
ASKING = '''"""Asks another server, which is not there when it is tested."""

import httpx
from heddle_tools_service.sdk import ToolCall, ToolConfig, ToolResult, tool
from pydantic import Field


class Server(ToolConfig):
    """Whom to ask."""

    url: str = Field(description="Where it is.", examples=["http://127.0.0.1:9/"])


@tool("asking", title="Asking")
async def asking(call: ToolCall[Server], http: httpx.AsyncClient) -> ToolResult:
    """Asks."""
    answer = await http.get(call.config.url, params={"q": call.query})
    return ToolResult(answer.text)
'''
CONVERTING = '''"""Has arguments of its own, and one of them has no example."""

from heddle_tools_service.sdk import ToolArguments, ToolCall, ToolResult, tool
from pydantic import Field


class Miles(ToolArguments):
    """How far."""

    miles: float = Field(description="How many miles.")


@tool("converting", title="Converting", modes=("function",))
def converting(call: ToolCall[None, Miles]):
    """Converts."""
    return ToolResult.json({"kilometres": call.arguments.miles * 1.609})
'''


def conformance(folder: Path, *names: str) -> str:
    """Return what the conformance tests say of some tools of a folder."""
    command = [sys.executable, "-m", "pytest", str(CONFORMANCE), "-q", "-p", "no:cacheprovider"]
    ended = subprocess.run(  # noqa: S603 - our own tests
        [*command, "--tb=line", "-k", " or ".join(names)],
        env={**os.environ, "HEDDLE_TOOLS_PLUGINS_DIR": str(folder)},
        cwd=CONFORMANCE.parents[2],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return ended.stdout


@pytest.mark.exhaustive
def test_they_are_tested_without_another_line_and_told_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "searching.py").write_text(SEARCHING)
    (tmp_path / "asking.py").write_text(ASKING)
    (tmp_path / "converting.py").write_text(CONVERTING)

    said = conformance(tmp_path, "searching", "asking", "converting")

    failed = [line for line in said.splitlines() if line.startswith("FAILED")]
    assert all("[converting-" in line for line in failed), said
    assert any("converting-examples" in line for line in failed), said
    assert "give each Field(examples=[...])" in said
    assert "the server of the example does not answer" in said
