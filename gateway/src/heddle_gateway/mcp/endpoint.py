"""`/mcp`: Heddle's own tools, for clients of the Model Context Protocol."""

import asyncio
import importlib
from typing import Any, Literal

from heddle_runtime.errors import PermissionDeniedError
from pydantic import ConfigDict, Field

from heddle_gateway.auth.web_pages import is_own_page, origin_of
from heddle_gateway.http.body import read_body
from heddle_gateway.http.disconnect import GatewayStoppingError
from heddle_gateway.http.error_responses import ErrorResponse, RejectedRequestError
from heddle_gateway.http.headers import own_address
from heddle_gateway.http.json_text import check_values
from heddle_gateway.http.models import Model
from heddle_gateway.http.openapi import Error
from heddle_gateway.http.operations import Access
from heddle_gateway.http.raw import RawRequest
from heddle_gateway.mcp.trace_context import adopt_trace
from heddle_gateway.routing import Call, Routes
from heddle_gateway.state import State

_SERVER = "heddle_gateway.mcp.server"
_ANY = "*"
_JSON = "application/json"
METADATA_PATH = "/.well-known/oauth-protected-resource"
routes = Routes("mcp")
_public = Routes("mcp", Access.OPEN)


class McpHeaders(Model):
    """Headers of a message."""

    accept: Literal["application/json, text/event-stream"] = Field(
        alias="Accept", description="The media types of the response; both are required."
    )


class McpMessage(Model):
    """A JSON-RPC request or notification."""

    jsonrpc: Literal["2.0"]
    id: str | int = 0
    method: str
    params: dict[str, Any] = Field(default={})

    model_config = ConfigDict(
        json_schema_extra={"example": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}}
    )


class McpError(Model):
    """An error."""

    code: int
    message: str


class McpResponse(Model):
    """A JSON-RPC response; a stream if the call reports progress or takes long."""

    jsonrpc: Literal["2.0"]
    id: str | int | None = None
    result: dict[str, Any] = Field(default={})
    error: McpError = McpError(code=0, message="")


@routes.post(
    "/mcp",
    returns=McpResponse,
    content=("text/event-stream",),
    responses={202: None, 400: McpResponse | Error, 404: McpResponse | Error, 406: None},
    errors=(415,),
    request_headers=McpHeaders,
    body_model=McpMessage,
    reads_body=False,
)
async def message(api: Call) -> None:
    """Answer one message of the Model Context Protocol, over streamable HTTP.

    `tools/list` lists the functions of the tools that need no configuration, and `ask_NAME` for at
    most 200 assistants that the key may use; `tools/call` calls one on behalf of the key's owner.
    An answer has its sources as structured content. Stored prompts are prompts. A failed call is a
    result with `isError`. There are no sessions: `GET` and `DELETE` are answered with 405. Requests
    with an `Origin` are rejected, except those of `HEDDLE_GATEWAY_CORS_ORIGINS` and of pages that
    the gateway serves on its own machine.
    """
    state, request = api.state, api.raw
    _reject_web_pages(state, request)
    if request.header("content-type").partition(";")[0].strip().lower() != _JSON:
        text = f"The body must be JSON, with the header 'Content-Type: {_JSON}'."
        raise RejectedRequestError(ErrorResponse(415, text, code="unsupported_media_type"))
    body = await read_body(request, state.settings)
    check_values(body)
    await adopt_trace(state, request, body)
    watch = state.running.watch(request)
    # The SDK takes a second and 20 MB, which only installations with MCP clients need.
    sdk = await asyncio.to_thread(importlib.import_module, _SERVER)
    try:
        with watch as watcher:
            await sdk.respond(state, request, body, watcher)
    except GatewayStoppingError:
        if request.status == 0:
            raise
        if not request.connection.response_complete:
            await request.write(b"", last=True)


class ProtectedResource(Model):
    """How clients authenticate, as RFC 9728 says."""

    resource: str
    resource_name: Literal["Heddle"] = "Heddle"
    bearer_methods_supported: list[str] = Field(default=["header"])
    resource_documentation: str


@_public.get(METADATA_PATH, f"{METADATA_PATH}/mcp")
async def protected_resource(api: Call) -> ProtectedResource:
    """Describe how clients of the Model Context Protocol authenticate: with a key of Heddle's.

    There is no authorization server: people create keys in the studio.
    """
    request = api.raw
    base = own_address(
        api.state.settings.public_url, request.scope["scheme"], request.header("host")
    )
    return ProtectedResource(
        resource=f"{base}/mcp", resource_documentation=f"{base}/docs/guides/mcp"
    )


def _reject_web_pages(state: State, request: RawRequest) -> None:
    """Reject web pages of unlisted origins, as MCP requires.

    Raises:
        PermissionDeniedError: The request has such an origin.
    """
    origin = origin_of(request)
    allowed = state.settings.cors_origins
    if origin and not (origin in allowed or _ANY in allowed or is_own_page(request)):
        raise PermissionDeniedError(
            f"Web pages of {origin[:200]!r} may not call this. HEDDLE_GATEWAY_CORS_ORIGINS lists "
            "the allowed origins."
        )


routes.operations += _public.operations
