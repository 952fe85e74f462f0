"""MCP servers that are commands of the operator's, and how long they live."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from heddle_runtime.identity.callers import Identity
from heddle_tools_service.providers.mcp.conversations import MAX_IDLE
from patience import until
from tools_service.calling import Calling, calling_tools
from tools_service.mcp_calling import answer, called, failure, listed, pins

COUNTING = """
import json, os, sys
tool = {"description": "Counts or dies.", "inputSchema": {"type": "object"}}
hello = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
         "serverInfo": {"name": "counting", "version": "1"}}
counted = 0
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    answer = {"error": {"code": -32601, "message": "Method not found"}}
    if asked["method"] == "initialize":
        answer = {"result": hello}
    elif asked["method"] == "tools/list":
        answer = {"result": {"tools": [{"name": n, **tool} for n in ("count", "die")]}}
    elif asked["method"] == "tools/call":
        if asked["params"]["name"] == "die":
            os._exit(1)
        counted += 1
        answer = {"result": {"content": [{"type": "text", "text": str(counted)}]}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""
STUBBORN = (
    f"import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN){COUNTING}time.sleep(60)"
)
COMMANDS = {
    "counting": [sys.executable, "-c", COUNTING],
    "stubborn": [sys.executable, "-c", STUBBORN],
    "time": [sys.executable, "-m", "mcp_server_time", "--local-timezone=UTC"],
    "absent": ["/nonexistent/program"],
    "silent": [sys.executable, "-c", "import time; time.sleep(60)"],
    "babbling": [sys.executable, "-c", "while True: print('no JSON')"],
    "dying": [sys.executable, "-c", "raise SystemExit(3)"],
}


@pytest.fixture
async def tools(tmp_path: Path) -> AsyncIterator[Calling]:
    async with calling_tools(tmp_path, mcp_commands=COMMANDS) as calling:
        yield calling


@pytest.mark.exhaustive
async def test_a_tool_of_a_public_package_is_run_over_its_streams(tools: Calling) -> None:
    server = {"command": "time"}
    config = {**server, "tools": ["get_current_time"], "pins": await pins(tools, server)}

    [found] = await listed(tools, config)

    assert [each.name for each in found.functions] == ["get_current_time"]
    told = json.loads(await answer(tools, config, "get_current_time", timezone="Europe/Berlin"))
    assert told["timezone"] == "Europe/Berlin"


@pytest.mark.parametrize("name", ["bash", "", "time --help", "../time"])
async def test_only_commands_that_the_operator_named_are_run(tools: Calling, name: str) -> None:
    error = await failure(tools, {"command": name, "tools": ["x"]}, "x")

    allowed = "does not allow the command" not in error.message
    assert not allowed or "either url or command" in str(error.violations)


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("absent", "cannot be started"),
        ("dying", "broke off without an answer"),
        ("silent", "did not answer within 1 s"),
        pytest.param("babbling", "did not answer within 1 s", marks=pytest.mark.exhaustive),
    ],
)
async def test_a_command_that_is_of_no_use_ends_in_an_error(
    tools: Calling, command: str, complaint: str
) -> None:
    error = await failure(tools, {"command": command, "tools": ["x"]}, "x", limit=1)

    assert complaint in error.message
    assert repr(command) in error.message


async def test_the_uses_of_a_run_share_a_session_and_other_runs_have_others(
    tools: Calling,
) -> None:
    server = {"command": "counting"}
    config = {**server, "tools": ["count"], "pins": await pins(tools, server)}
    again = {"organization": "uni", "run": "req_2"}

    counted = [
        await answer(tools, config, "count"),
        await answer(tools, config, "count"),
        await answer(tools, config, "count", **again),
        await answer(
            tools, config, "count", identity=Identity("eve", scopes=("creator",)), **again
        ),
        await answer(tools, config, "count", organization="poor", run="req_2"),
        await answer(tools, config, "count", **again),
    ]

    assert counted == ["1", "2", "1", "1", "1", "2"]


async def test_a_session_that_broke_is_not_used_again(tools: Calling) -> None:
    server = {"command": "counting"}
    config = {**server, "tools": ["count", "die"], "pins": await pins(tools, server)}
    assert await answer(tools, config, "count") == "1"

    error = await failure(tools, config, "die")

    assert "broke off" in error.message
    assert await answer(tools, config, "count") == "1"


async def test_many_runs_leave_few_processes(tools: Calling) -> None:
    server = {"command": "counting"}
    config = {**server, "tools": ["count"], "pins": await pins(tools, server)}

    for number in range(MAX_IDLE + 2):
        assert await answer(tools, config, "count", run=f"req_{number}") == "1"

    await until(lambda: len(processes("counting")) <= MAX_IDLE)


@pytest.mark.parametrize("cancelled", [False, True])
async def test_no_process_outlives_its_call(tools: Calling, cancelled: bool) -> None:
    config = {"command": "silent", "tools": ["x"]}
    waiting = asyncio.create_task(called(tools, config, "x", limit=20 if cancelled else 1))
    await until(lambda: processes("silent"))

    if cancelled:
        waiting.cancel()
    await asyncio.wait([waiting])

    await until(lambda: not processes("silent"))


async def test_a_server_that_does_not_end_is_killed_when_the_service_stops(tmp_path: Path) -> None:
    server = {"command": "stubborn"}
    async with calling_tools(tmp_path, mcp_commands=COMMANDS) as tools:
        config = {**server, "tools": ["count"], "pins": await pins(tools, server)}
        assert await answer(tools, config, "count") == "1"
        assert processes("stubborn")

    assert not processes("stubborn")


def processes(command: str) -> list[psutil.Process]:
    """Return the processes of a command."""
    found = []
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if COMMANDS[command][-1] in child.cmdline():
                found.append(child)
    return found
