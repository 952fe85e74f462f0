"""Speaks MCP to clients, with the official SDK. Loaded when the first of them comes."""

import asyncio
import json
from http import HTTPStatus
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import mcp_types as types
import structlog
from heddle_runtime.errors import HeddleError
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from starlette.types import Message

from heddle_gateway.http import error_responses
from heddle_gateway.http.raw import RawRequest
from heddle_gateway.mcp import tools
from heddle_gateway.openai.chat import run_events

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from heddle_gateway.http.disconnect import DisconnectWatcher
    from heddle_gateway.state import State

log = structlog.get_logger(__name__)
_HIDDEN = "The gateway failed. The cause is in its log, under the request id."


async def answer(
    state: "State", exchange: RawRequest, body: bytes, lifeline: "DisconnectWatcher"
) -> None:
    """Answer one message of a client: as JSON, or as a stream if there is progress to tell.

    Everything is made anew for it and ends with it, so that nothing of one caller is there when
    another one comes, and a client that goes away takes its call with it.
    """
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if pending:
            return pending.pop()
        await asyncio.Event().wait()  # the lifeline knows when the client leaves
        raise AssertionError

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = message["headers"]
            if message["status"] == HTTPStatus.ACCEPTED:  # the SDK calls nothing JSON
                headers = [pair for pair in headers if pair[0] != b"content-type"]
            await exchange.start(message["status"], tuple(headers))
            return
        last = not message.get("more_body", False)
        if last:
            lifeline.release()  # the HTTP server reports a complete answer as a disconnect
        await exchange.write(message.get("body", b""), last=last)

    manager = StreamableHTTPSessionManager(
        _server(state), stateless=True, max_request_body_size=state.settings.max_body_bytes
    )
    async with manager.run():
        await manager.handle_request(exchange.scope, receive, send)


def _server(state: "State") -> Server[Any]:
    async def list_tools(
        _: "ServerRequestContext[Any]", __: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        try:
            found = await tools.functions(state)
        except HeddleError as error:
            message = error_responses.of(error).message
            raise MCPError(types.INTERNAL_ERROR, message) from error
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=name,
                    description=function.description,
                    input_schema={
                        "type": "object",
                        **run_events.members(function.parameters_schema_json),
                    },
                )
                for name, (_, function) in found.items()
            ]
        )

    async def call_tool(
        context: "ServerRequestContext[Any]", wanted: types.CallToolRequestParams
    ) -> types.CallToolResult:
        steps = 0

        async def told(message: str) -> None:
            nonlocal steps
            steps += 1
            await context.session.report_progress(steps, message=message)

        try:
            text = json.dumps(wanted.arguments or {}, ensure_ascii=False)
            found = await tools.call(state, wanted.name, text, told)
        except HeddleError as error:
            return _result(error_responses.of(error).message, failed=True)
        except Exception:
            log.exception("unexpected failure", method="tools/call")
            return _result(_HIDDEN, failed=True)
        warnings = (f"[{warning}]" for warning in found.warnings)
        return _result("".join(part.text for part in found.parts), *warnings)

    return Server(
        "heddle",
        version=version("heddle-gateway"),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _result(*texts: str, failed: bool = False) -> types.CallToolResult:
    content: list[types.ContentBlock] = [
        types.TextContent(type="text", text=text) for text in texts if text
    ]
    return types.CallToolResult(content=content, is_error=failed)
