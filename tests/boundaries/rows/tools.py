"""Limits of tools, their results, and the processes of plugins."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import SimpleNamespace
from typing import Any, cast

import httpx
import httpx2
import mcp
from boundaries.rows.forms import Check
from heddle.tool.v1 import tool_pb2
from heddle_runtime.identity.call_metadata import Caller
from heddle_tools_service import servicer
from heddle_tools_service.capabilities.remote_servers import RemoteTool
from heddle_tools_service.capabilities.workspace import Page
from heddle_tools_service.contract import results
from heddle_tools_service.definitions import schemas
from heddle_tools_service.installed import tool as installed_tool
from heddle_tools_service.providers import open_meteo, rubrics, workspaces
from heddle_tools_service.providers.mcp.http_bridge import HttpBridge
from heddle_tools_service.providers.mcp.reachability import Reach
from heddle_tools_service.providers.mcp.session import Session
from heddle_tools_service.running.execution import Outbox, Run
from heddle_tools_service.sdk import Source, ToolError, ToolResult
from heddle_tools_service.tools import mcp_acceptance, retrieved, workspace_pages
from heddle_tools_service.tools.mcp_options import McpConfig
from heddle_tools_service.workers import capability_calls, forking, frames, loading, supervisor
from heddle_tools_service.workers.calls import CallInProcess, CallRequest
from heddle_tools_service.workers.process import PluginProcess
from mcp import types
from mcp.server import Server


def _result(**fields: Any) -> tool_pb2.ToolResult:
    tool_result = ToolResult(**{"text": "", **fields})
    return results.result("t", "s", tool_result, "", 0, for_agent=True)


def _metadata(size: int) -> object:
    empty = _result(metadata={"k": "x" * 300_000}).metadata.ByteSize() - 300_000
    return _result(metadata={"k": "x" * (size - empty)}).warnings


def _sources(size: int) -> list[str]:
    """Return the warnings about sources that have a size together."""

    def source(characters: int) -> Source:
        text = "x" * characters
        return Source(text[:4_000], text[4_000:8_000], text[8_000:])

    def bytes_of(each: Source) -> int:
        return results._source(each).ByteSize()

    whole = source(12_000)
    count, rest = divmod(size - 200, bytes_of(whole))
    lasts = (source(characters) for characters in range(rest + 200))
    last = next(each for each in lasts if bytes_of(each) == rest + 200)
    warnings: list[str] = []
    results._sources([*[whole] * count, last], warnings)
    return warnings


def _details(size: int) -> bool:
    error = ToolError("It failed.", details={"k": "x" * (size - len('{"k": ""}'))})
    return "details_json" not in results._more(error)


def _arguments(size: int) -> object:
    return installed_tool._arguments_in(tool_pb2.FunctionCall(arguments_json="{}".ljust(size)))


def _defaults(levels: int) -> bool:
    """Return whether a default is missing below objects inside of each other."""
    schema: Any = {"properties": {"a": {"default": 1}}}
    value: Any = {}
    for _ in range(levels):
        schema, value = {"properties": {"a": schema}}, {"a": value}
    schemas._fill(value, schema, schema, 0)
    while isinstance(value, dict) and value:
        value = value["a"]
    return bool(value != 1)


def _invocations(count: int) -> list[object]:
    invocations = [tool_pb2.ToolInvocation(id=str(number)) for number in range(count)]
    return list(servicer._violations(invocations, "{}"))


def _configs(count: int) -> None:
    requests = [tool_pb2.ValidateToolConfigRequest()] * count
    servicer._check_number(tool_pb2.BatchValidateToolConfigsRequest(requests=requests))


def _rubric(size: int) -> bool:
    with NamedTemporaryFile() as file:
        content = json.dumps({"rubric_id": "1", "rubric_data": {}})
        file.write(content.encode())
        file.flush()
        return rubrics._read(Path(file.name), 0, size) is None


def _shown(**fields: Any) -> bool:
    """Return whether a tool of an MCP server is refused, whatever the author accepts."""
    remote = RemoteTool(**{"name": "t", "description": "", "schema": {}, **fields})
    return not mcp_acceptance.judged(remote, McpConfig.model_construct(pins={}, tools=[]))[0]


def _schema(size: int) -> bool:
    return _shown(schema={"title": "x" * (size - len('{"title": ""}'))})


@asynccontextmanager
async def _session(tools: int, text: str = "") -> AsyncGenerator[Session]:
    """Yield a session with a server that has some tools, each of which answers with a text."""
    content: list[types.ContentBlock] = [types.TextContent(text=text)]
    schema = {"type": "object"}
    all_tools = [types.Tool(name=str(number), input_schema=schema) for number in range(tools)]

    async def listed(*_: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=all_tools)

    async def called(*_: Any) -> types.CallToolResult:
        return types.CallToolResult(content=content)

    server = Server("a", on_list_tools=listed, on_call_tool=called)
    async with mcp.Client(server) as client, httpx.AsyncClient() as http:
        reach = Reach(5)
        yield Session(reach, client, HttpBridge(http, reach.who))


async def _remote_tools(count: int) -> object:
    async with _session(count) as session:
        try:
            await session.tools()
        except ToolError as error:
            return error
    return None


async def _remote_text(characters: int) -> object:
    async with _session(1, "x" * characters) as session:
        return (await session.call("0", {})).left_out


async def _traffic(size: int) -> ToolError | None:
    async with httpx.AsyncClient() as http:
        bridge = HttpBridge(http, "The server")
        try:
            bridge.take(size)
        except httpx2.ReadError:
            return bridge.failure
    return None


async def _values(count: int) -> ToolError | None:
    async with httpx.AsyncClient() as http:
        bridge = HttpBridge(http, "The server")
        try:
            bridge.take_lines(json.dumps([0] * (count - 1)).encode())
        except httpx2.ReadError:
            return bridge.failure
    return None


async def _statuses(count: int) -> bool:
    outbox = Outbox(1)

    async def work(_: Run) -> tool_pb2.ToolResult:
        await asyncio.sleep(60)
        return tool_pb2.ToolResult()

    run = Run("1", "t", "1", "s", 60, outbox, work)
    for _ in range(count):
        run.status("Searching")
    return outbox._events.qsize() < count


def _lines(characters: int) -> bool:
    page = Page("a", "", 1, ("x" * characters,), 1, "LF", final_newline=True)
    return "cut" in workspace_pages._numbered(page)[0]


def _environment(size: int) -> None:
    empty = len(forking._request([], 1, {"A": ""}))
    forking._request([], 1, {"A": "x" * (size - empty)})


async def _body(size: int) -> None:
    async def content() -> AsyncIterator[bytes]:
        yield bytes(size)

    await capability_calls._body(httpx.Response(200, content=content()))


def _capabilities() -> capability_calls.CapabilityCalls:
    call = cast("Any", SimpleNamespace(seconds=1.0))
    return capability_calls.CapabilityCalls({}, call, Caller(""), "a")


async def _frame(size: int) -> None:
    reader = asyncio.StreamReader()
    reader.feed_data(size.to_bytes(4, "big") + bytes(size))
    reader.feed_eof()
    await frames.read_frame(reader)


async def _frames(count: int) -> None:
    call = CallInProcess(CallRequest("execute", b"", 1, Caller(""), _capabilities(), print))
    for _ in range(count):
        call.count()


async def _strays(count: int) -> None:
    process = PluginProcess(cast("Any", None), "a", print)
    for number in range(count):
        process._call(number)


def _description(size: int) -> None:
    tool = tool_pb2.Tool(name="a_tool", default_slot="a_slot", description="x" * 400_000)
    tool.description += "x" * (size - tool.ByteSize())
    loading._description(tool.SerializeToString(), "a")


_TOOLS = "heddle_tools_service"
_MAPPING, _WORKERS = f"{_TOOLS}.contract.results", f"{_TOOLS}.workers"
ROWS: dict[str, Check] = {
    f"{_TOOLS}.installed.tool._MAX_ARGUMENT_CHARS": _arguments,
    f"{_TOOLS}.servicer.MAX_CONFIGS": _configs,
    f"{_TOOLS}.servicer.MAX_INVOCATIONS": _invocations,
    f"{_TOOLS}.definitions.schemas._MAX_DEPTH": _defaults,
    f"{_MAPPING}.MAX_TEXT_CHARS": lambda n: _result(text="x" * n).warnings,
    f"{_MAPPING}.MAX_PHRASE_CHARS": lambda n: results.phrase("x" * n) != "x" * n,
    f"{_MAPPING}._MAX_DETAILS_CHARS": _details,
    f"{_MAPPING}._MAX_METADATA_BYTES": _metadata,
    f"{_MAPPING}._MAX_SOURCES_BYTES": _sources,
    f"{_MAPPING}._MAX_OBJECTS": lambda n: _result(objects=[{}] * n).warnings,
    f"{_TOOLS}.running.execution._MAX_STATUSES": _statuses,
    f"{_TOOLS}.providers.mcp.http_bridge.MAX_TRAFFIC_BYTES": _traffic,
    "heddle_runtime.contract.json_text.MAX_VALUES": _values,
    f"{_TOOLS}.providers.mcp.session.MAX_TEXT_CHARS": _remote_text,
    f"{_TOOLS}.providers.mcp.session._MAX_TOOLS": _remote_tools,
    f"{_TOOLS}.providers.open_meteo._MAX_CELSIUS": lambda n: not open_meteo._is_temperature(n),
    f"{_TOOLS}.providers.rubrics._MAX_FILE_BYTES": _rubric,
    f"{_TOOLS}.providers.workspaces._MAX_NAME_CHARS": lambda n: (
        workspaces.folder_name("x" * n) != "x" * n
    ),
    f"{_TOOLS}.tools.mcp_acceptance._MAX_DESCRIPTION_CHARS": lambda n: _shown(description="x" * n),
    f"{_TOOLS}.tools.mcp_acceptance._MAX_SCHEMA_BYTES": _schema,
    f"{_TOOLS}.tools.workspace_pages._MAX_LINE_CHARS": _lines,
    f"{_TOOLS}.tools.retrieved._MAX_QUERY_CHARS": lambda n: (
        "x" * n not in retrieved.empty_search_text("passages", "x" * n, [])
    ),
    f"{_WORKERS}.calls._MAX_FRAMES": _frames,
    f"{_WORKERS}.capability_calls._MAX_BODY_BYTES": _body,
    f"{_WORKERS}.frames.MAX_FORK_REQUEST_BYTES": _environment,
    f"{_WORKERS}.supervisor._MAX_PROCESSES": lambda n: supervisor._check_number(n, "a"),
    f"{_WORKERS}.frames.MAX_FRAME_BYTES": _frame,
    f"{_WORKERS}.loading._MAX_DESCRIPTION_BYTES": _description,
    f"{_WORKERS}.process._MAX_STRAYS": _strays,
}
