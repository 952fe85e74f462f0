"""Threat 32: a plugin blocks the event loop that runs it."""

import asyncio
import time
from itertools import pairwise
from pathlib import Path

import pytest
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.identity.call_metadata import new_call_options
from threats.tool_service import tool_service
from tools_service.serving import said as conversation
from tools_service.serving import text_of

MAX_GAP_SECONDS = 0.2
TICKING = '''
import asyncio
from heddle_tools_service.sdk import ToolResult, tool

@tool("ticks", title="Ticks")
async def ticks(call):
    """Reports every 20 ms for a second."""
    for number in range(50):
        call.status(f"tick {number}")
        await asyncio.sleep(0.02)
    return ToolResult("done")
'''
BLOCKING = '''
import time
from heddle_tools_service.sdk import ToolResult, tool

@tool("blocks", title="Blocks")
async def blocks(call):
    """Blocks for two seconds."""
    time.sleep(2)
    return ToolResult("late")

@tool("beside", title="Beside")
async def beside(call):
    """Is in the same file."""
    return ToolResult("beside")
'''


@pytest.mark.exhaustive
@pytest.mark.alone
async def test_streams_of_other_tools_have_no_gaps(tmp_path: Path) -> None:
    files = {"ticks.py": TICKING, "blocks.py": BLOCKING}
    async with tool_service(tmp_path, files) as attacked:
        blocked = asyncio.create_task(
            attacked.client.run("blocks", {}, conversation("?"), seconds=20)
        )
        request = pb.ExecuteToolRequest(
            invocation=pb.ToolInvocation(id="1", name="ticks"), context=conversation("?")
        )
        events = attacked.client.stub.ExecuteTool(request, **new_call_options(20))
        times = [time.perf_counter(), *[time.perf_counter() async for _ in events]]
        # A call of the blocked file gets a process of its own.
        started = time.perf_counter()
        await attacked.client.run("beside", {}, conversation("?"))
        beside_seconds = time.perf_counter() - started
        _, late = await blocked

    assert text_of(late) == "late"
    assert len(times) == 1 + 50 + 1
    assert max(second - first for first, second in pairwise(times)) < MAX_GAP_SECONDS
    assert beside_seconds < 1.5
