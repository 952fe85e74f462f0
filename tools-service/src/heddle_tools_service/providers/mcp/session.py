"""A session with an MCP server, spoken by the official SDK."""

import json
import os
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, assert_never
from urllib.parse import urlsplit

import httpx
import httpx2
import mcp_types as types
import structlog
from heddle_runtime.redaction import redact_personal
from heddle_runtime.telemetry import spans
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from heddle_tools_service.capabilities.remote_servers import RemoteAnswer, RemoteTool
from heddle_tools_service.providers.mcp.http_bridge import HttpBridge
from heddle_tools_service.providers.mcp.reachability import Reach
from heddle_tools_service.sdk import Effect, ToolError, ToolUnavailableError

log = structlog.get_logger(__name__)
MAX_TEXT_CHARS = 100_000
"""The maximum number of characters of an answer that models receive."""
_MAX_PAGES = 20
_MAX_TOOLS = 500
_MAX_COMPLAINT_CHARS = 2_000
_NOT_UNDERSTOOD = ("Failed to parse", "Unexpected content type")
"""The SDK's own words for answers that are not MCP; what follows them is for operators."""
_BROKEN_OFF = ("Connection closed", "SSE stream ended")
_PROBLEMS = {
    types.INVALID_PARAMS: "refuses the arguments",
    types.METHOD_NOT_FOUND: "does not know the method",
    types.INVALID_REQUEST: "refuses the request",
    types.INTERNAL_ERROR: "reports a failure of its own",
}
_CLIENT = types.Implementation(name="heddle", version="1")


@asynccontextmanager
async def session(reach: Reach, http: httpx.AsyncClient) -> AsyncGenerator["Session"]:
    """Yield a session with a server, and end it properly.

    Raises:
        ToolError: As of `RemoteServers.use`.
    """
    bridge = HttpBridge(http, reach.who)
    try:
        async with AsyncExitStack() as stack:
            if reach.url:
                headers = {"authorization": f"Bearer {reach.token}"} if reach.token else {}
                client = await stack.enter_async_context(
                    httpx2.AsyncClient(transport=bridge, headers=headers, timeout=None)
                )
                transport = streamable_http_client(reach.url, http_client=client)
            else:
                program, *arguments = reach.command
                # What it complains of is not ours to log; people run the command to read it.
                silence = stack.enter_context(Path(os.devnull).open("w"))  # noqa: ASYNC230, SIM115 - never waits; the stack closes it
                transport = stdio_client(
                    StdioServerParameters(command=program, args=arguments), silence
                )
            yield Session(
                reach,
                await stack.enter_async_context(Client(transport, client_info=_CLIENT, cache=None)),
                bridge,
            )
    except Exception as error:
        raise _as_tool_error(error, reach, bridge.failure) from error


@dataclass(frozen=True, slots=True)
class Session:
    """A session with a server; see `RemoteSession`."""

    reach: Reach
    client: Client
    bridge: HttpBridge

    def begin(self) -> Callable[[Exception], ToolError]:
        """Start a new use of the session, and return the function that describes its failures."""
        self.bridge.renew()
        return lambda error: _as_tool_error(error, self.reach, self.bridge.failure)

    async def tools(self) -> Sequence[RemoteTool]:
        """Return all tools that the server has."""
        tools: list[RemoteTool] = []
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            page = await self.client.list_tools(cursor=cursor)
            tools += [self._tool(tool) for tool in page.tools]
            cursor = page.next_cursor
            if len(tools) > _MAX_TOOLS:
                break
            if not cursor:
                return tools
        raise ToolError(f"{self.reach.who} has more than {_MAX_TOOLS} tools, or does not say all.")

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> RemoteAnswer:
        """Call a tool by the server's name for it."""
        # Not `Client.call_tool`, which would evaluate the server's own schema of its answer: that
        # is a program of a stranger, and could take for ever.
        parameters = types.CallToolRequestParams(name=tool, arguments=dict(arguments))
        spans.annotate(self._attributes)
        answer = await self.client.session.send_request(
            types.CallToolRequest(params=parameters), types.CallToolResult
        )
        if answer.is_error:
            spans.fail("tool_error")
        texts: list[str] = []
        left_out: list[str] = []
        for block in answer.content:
            read, other = _read(block)
            texts += read
            left_out += other
        if not texts and answer.structured_content is not None:
            texts.append(json.dumps(answer.structured_content, ensure_ascii=False))
        text = self.reach.without_secret("\n".join(texts))
        if len(text) > MAX_TEXT_CHARS:
            left_out.append(f"all but the first {MAX_TEXT_CHARS:,} of {len(text):,} characters")
        return RemoteAnswer(text[:MAX_TEXT_CHARS], bool(answer.is_error), left_out)

    def _attributes(self) -> spans.Attributes:
        known: dict[str, spans.Value] = {
            "mcp.method.name": "tools/call",
            "mcp.protocol.version": self.client.session.protocol_version or "",
        }
        if self.reach.url:
            address = urlsplit(self.reach.url)
            known["server.address"] = address.hostname or ""
            known["server.port"] = address.port or (443 if address.scheme == "https" else 80)
        return known

    def _tool(self, tool: types.Tool) -> RemoteTool:
        clean = self.reach.without_secret
        schema = tool.input_schema
        if self.reach.token:
            schema = json.loads(clean(json.dumps(schema)))
        return RemoteTool(
            clean(tool.name),
            clean(tool.description or ""),
            schema,
            title=clean(tool.title or ""),
            accepted=self.reach.pins.get(tool.name, ""),
            effect=_effect(tool.annotations),
        )


def _effect(annotations: types.ToolAnnotations | None) -> Effect:
    """Return a tool's effect as its server declares it, with MCP's defaults for missing hints."""
    if annotations is not None and annotations.read_only_hint is True:
        return "read_only"
    if annotations is not None and annotations.destructive_hint is False:
        return "non_destructive"
    return "destructive"


def _read(block: types.ContentBlock) -> tuple[list[str], list[str]]:
    match block:
        case types.TextContent():
            return [block.text], []
        case types.EmbeddedResource(resource=types.TextResourceContents() as resource):
            return [resource.text], []
        case types.EmbeddedResource(resource=resource):
            return [], [f"a file ({_kind(resource.mime_type)})"]
        case types.ImageContent():
            return [], [f"an image ({_kind(block.mime_type)})"]
        case types.AudioContent():
            return [], [f"a recording ({_kind(block.mime_type)})"]
        case types.ResourceLink():
            return [f"[{block.title or block.name}]({block.uri})"], []
        case _:
            assert_never(block)


def _kind(media_type: str | None) -> str:
    return (media_type or "of no known kind")[:80]


def _as_tool_error(error: Exception, reach: Reach, failure: ToolError | None) -> ToolError:
    """Return the failure that describes an error of the SDK, or one that passed through it."""
    leaves = list(_leaves(error))
    own = next((leaf for leaf in leaves if isinstance(leaf, ToolError)), failure)
    known_error = own or next(filter(None, (_known(leaf, reach) for leaf in leaves)), None)
    if known_error is None:
        log.error("MCP session failed", exc_info=error)
        return ToolError(f"{reach.who} cannot be understood.", kind="mcp_garbled")
    return known_error


def _known(leaf: BaseException, reach: Reach) -> ToolError | None:
    match leaf:
        # Servers give the SDK's code for it to failures of their own, so its words decide.
        case MCPError(code=types.CONNECTION_CLOSED, message=reason) if reason.startswith(
            _BROKEN_OFF
        ):
            return ToolUnavailableError(f"{reach.who} broke off without an answer.")
        case MCPError():
            message = reach.without_secret(leaf.message)[:MAX_TEXT_CHARS]
            reason = redact_personal(message)[:_MAX_COMPLAINT_CHARS]
            if reason.startswith(_NOT_UNDERSTOOD):
                return _garbled(reach, reason)
            problem = _PROBLEMS.get(leaf.code, f"answers with the error {leaf.code}")
            return ToolError(
                f"{reach.who} {problem}.",
                kind="mcp_error",
                details={"server_message": reason},
                diagnosis=reason,
            )
        case ValidationError():
            return _garbled(reach, str(leaf)[:_MAX_COMPLAINT_CHARS])
        case OSError():
            return ToolUnavailableError(f"{reach.who} cannot be started.")
        case _:
            return None


def _garbled(reach: Reach, reason: str) -> ToolError:
    message = f"{reach.who} answers with what is no MCP."
    return ToolError(message, kind="mcp_garbled", diagnosis=reason)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error
