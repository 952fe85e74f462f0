"""An MCP server with the official SDK. It is imported for the first message."""

import asyncio
import json
from http import HTTPStatus
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import mcp_types as types
import structlog
from heddle.tool.v1.tool_pb2 import TOOL_EFFECT_DESTRUCTIVE, TOOL_EFFECT_READ_ONLY
from heddle_runtime.contract.json_text import members
from heddle_runtime.errors import HeddleError
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from starlette.types import Message

from heddle_gateway.http.disconnect import DisconnectWatcher
from heddle_gateway.http.error_responses import UNEXPECTED, from_error
from heddle_gateway.http.raw import RawRequest
from heddle_gateway.mcp import assistants, prompts, tools
from heddle_gateway.mcp.trace_context import tool_span
from heddle_gateway.state import State

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

log = structlog.get_logger(__name__)


async def respond(
    state: State, request: RawRequest, body: bytes, watcher: DisconnectWatcher
) -> None:
    """Answer one message: as JSON, or as a stream if there is progress to report.

    Each message has a server of its own that ends with it, so that callers share nothing, and a
    disconnect cancels the call.
    """
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if pending:
            return pending.pop()
        await asyncio.Event().wait()  # the watcher notices a disconnect
        raise AssertionError

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = message["headers"]
            if message["status"] == HTTPStatus.ACCEPTED:  # the SDK declares an empty body as JSON
                headers = [pair for pair in headers if pair[0] != b"content-type"]
            await request.start(message["status"], tuple(headers))
            return
        last = not message.get("more_body", False)
        if last:
            watcher.release()  # the HTTP server reports a complete response as a disconnect
        await request.write(message.get("body", b""), last=last)

    manager = StreamableHTTPSessionManager(
        _server(state, request.request_id),
        stateless=True,
        max_request_body_size=state.settings.max_body_bytes,
    )
    async with manager.run():
        await manager.handle_request(request.scope, receive, send)


def _server(state: State, request_id: str) -> Server[Any]:
    async def list_tools(
        _: "ServerRequestContext[Any]", __: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        try:
            functions = await tools.functions(state)
            to_ask = await assistants.assistants(state)
        except HeddleError as error:
            message = from_error(error).message
            raise MCPError(types.INTERNAL_ERROR, message) from error
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=name,
                    description=function.description,
                    input_schema={"type": "object", **members(function.parameters_schema_json)},
                    annotations=types.ToolAnnotations(
                        read_only_hint=effect == TOOL_EFFECT_READ_ONLY,
                        destructive_hint=effect == TOOL_EFFECT_DESTRUCTIVE,
                    ),
                )
                for name, (_, function, effect) in functions.items()
            ]
            + [
                types.Tool(
                    name=name,
                    title=each.title or None,
                    description=assistants.description(each),
                    input_schema=assistants.SCHEMA,
                )
                for name, each in to_ask.items()
                if name not in functions
            ]
        )

    async def call_tool(
        context: "ServerRequestContext[Any]", params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        steps = 0

        async def report(message: str) -> None:
            nonlocal steps
            steps += 1
            await context.session.report_progress(steps, message=message)

        try:
            text = json.dumps(params.arguments or {}, ensure_ascii=False)
            with tool_span(params.name, context.protocol_version or ""):
                if reply := await _answer(state, params, request_id):
                    return reply
                result = await tools.call_function(state, params.name, text, report)
        except HeddleError as error:
            return _result(from_error(error).message, failed=True)
        except Exception:
            log.exception("unexpected failure", method="tools/call")
            return _result(UNEXPECTED, failed=True)
        warnings = (f"[{warning}]" for warning in result.warnings)
        return _result("".join(part.text for part in result.parts), *warnings)

    list_prompts, get_prompt = _prompt_handlers(state)
    return Server(
        "heddle",
        version=version("heddle-gateway"),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )


def _prompt_handlers(state: State) -> tuple[Any, Any]:
    """Return what lists the stored prompts, and what gets one."""

    async def list_prompts(
        _: "ServerRequestContext[Any]", __: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        argument = types.PromptArgument(name=prompts.QUESTION, required=False)
        try:
            stored = await prompts.prompts(state)
        except HeddleError as error:
            raise MCPError(types.INTERNAL_ERROR, from_error(error).message) from error
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(
                    name=each.id,
                    title=each.title,
                    description=each.description,
                    arguments=[argument],
                )
                for each in stored
            ]
        )

    async def get_prompt(
        _: "ServerRequestContext[Any]", params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        question = (params.arguments or {}).get(prompts.QUESTION, "")
        try:
            prompt, text = await prompts.prompt_text(state, params.name, question)
        except HeddleError as error:
            raise MCPError(types.INVALID_PARAMS, from_error(error).message) from error
        content = types.TextContent(type="text", text=text)
        message = types.PromptMessage(role="user", content=content)
        return types.GetPromptResult(description=prompt.description, messages=[message])

    return list_prompts, get_prompt


async def _answer(
    state: State, params: types.CallToolRequestParams, request_id: str
) -> types.CallToolResult | None:
    """Return the answer of an assistant; None if the tool is none."""
    if not params.name.startswith(assistants.ASK):
        return None
    named = (await assistants.assistants(state)).get(params.name)
    if named is None:
        return None
    question = (params.arguments or {}).get("question")
    reply = await assistants.ask(state, named.id, question, request_id)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=reply.text)],
        structured_content={"sources": reply.sources},
    )


def _result(*texts: str, failed: bool = False) -> types.CallToolResult:
    content: list[types.ContentBlock] = [
        types.TextContent(type="text", text=text) for text in texts if text
    ]
    return types.CallToolResult(content=content, is_error=failed)
