"""`/mcp/servers` and `/mcp/pins`: the MCP servers of an organisation, and what they offer."""

import json
import re
from collections.abc import Mapping
from typing import Any, Literal

from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.contract.limits import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE
from heddle_runtime.contract.paging import page
from heddle_runtime.errors import NotFoundError
from heddle_runtime.identity.call_metadata import caller
from heddle_runtime.identity.callers import home
from pydantic import Field

from heddle_gateway.admin.organizations import read
from heddle_gateway.http.error_responses import invalid
from heddle_gateway.http.models import Model, PageSize, PageToken, StrictModel, Text
from heddle_gateway.routing import ETAG, Call, Routes
from heddle_gateway.services import call

_SECONDS = 25.0
"""The deadline of the tools service, which gives a server nine tenths of it, and at most 20."""
_PIN = re.compile("sha256:[0-9a-f]{64}")
routes = Routes("mcp")
_ORGANIZATION = "The slug of the organisation; if empty, the caller's."
_STATES: Mapping[int, Literal["new", "unchanged", "changed", "missing"]] = {
    pb.PIN_STATE_NEW: "new",
    pb.PIN_STATE_UNCHANGED: "unchanged",
    pb.PIN_STATE_CHANGED: "changed",
    pb.PIN_STATE_MISSING: "missing",
}


class McpServer(Model):
    """An MCP server in the settings of an organisation."""

    name: str = Field(description="Bindings of the tool `mcp` use it as `credential`.")
    url: str
    has_token: bool = Field(description="Whether a token is stored, which no response contains.")
    pins: dict[str, str] = Field(
        description="By the name of a tool, the form in which the organisation has accepted it."
    )
    pinned: bool = Field(description="Whether at least one tool is accepted.")


class McpServerPage(Model):
    """A page of MCP servers."""

    organization: str
    servers: list[McpServer]
    next_page_token: str = Field(description="Empty on the last page.")


class McpServerQuery(Model):
    """The query of the list of MCP servers."""

    organization: Text = Field(default="", description=_ORGANIZATION)
    page_size: PageSize
    page_token: PageToken


class PinsBody(StrictModel):
    """Which MCP server to connect to: `server` or `url`."""

    organization: Text = Field(default="", description=_ORGANIZATION)
    server: Text = Field(
        default="",
        description="The name of a server in the settings of the organisation.",
        examples=["library"],
    )
    url: Text = Field(
        default="",
        description="The address of another server, which gets no token.",
        examples=["https://mcp.example.org/mcp"],
    )
    pins: dict[str, str] | None = Field(
        default=None,
        description="The pins to compare with, by the name of the tool. If null, those of the "
        "settings.",
    )


class InspectedTool(Model):
    """A tool of an MCP server. Its texts are the server's."""

    name: str
    title: str = Field(description="Its name for people; empty if the server names none.")
    description: str
    input_schema: dict[str, Any] | None = Field(
        description="The JSON Schema of its arguments; null if the server has no such tool."
    )
    pin: str = Field(description="What accepts its current form; empty if nothing can.")
    state: Literal["new", "unchanged", "changed", "missing"] = Field(
        description="The comparison with the pin: there is none, it is that of the current form, "
        "it is that of another form, or the server does not have the tool."
    )
    problem: str = Field(description="Why the tool cannot be accepted; empty if it can.")


class InspectedServer(Model):
    """What an MCP server offers."""

    organization: str
    server: str = Field(description="The name in the settings; empty for another address.")
    url: str
    tools: list[InspectedTool] = Field(
        description="In the server's order, then those that only the pins name."
    )


@routes.get("/mcp/servers", errors=(400, 404), headers=ETAG)
async def list_servers(api: Call, query: McpServerQuery) -> McpServerPage:
    """List the MCP servers of an organisation, ordered by name. Only for its administrators.

    The ETag is that of the organisation, whose settings contain the servers.
    """
    slug = query.organization or home(caller().identity)
    stored = await _stored(api, slug)
    servers, token = page(
        [_server(name, server) for name, server in stored.items()],
        lambda server: server.name,
        query.page_size,
        query.page_token,
        default=DEFAULT_PAGE_SIZE,
        maximum=MAX_PAGE_SIZE,
    )
    return McpServerPage(organization=slug, servers=servers, next_page_token=token)


@routes.post("/mcp/pins", errors=(404, 502, 503, 504))
async def inspect(api: Call, body: PinsBody) -> InspectedServer:
    """Connect to an MCP server and compare its tools with the accepted ones.

    Only for administrators of the organisation. Nothing is stored: the pins of accepted tools
    belong into `mcp_servers.NAME.pins` of the organisation's settings. Addresses in private
    networks need `HEDDLE_ALLOWED_PRIVATE_NETWORKS`.
    """
    if bool(body.server) == bool(body.url):
        raise invalid("server", "or 'url' must be set, and not both")
    slug = body.organization or home(caller().identity)
    url, pins = body.url, {}
    if body.server:
        stored = (await _stored(api, slug)).get(body.server)
        if stored is None:
            raise NotFoundError(f"The organisation has no MCP server {body.server[:100]!r}.")
        server = _server(body.server, stored)
        url, pins = server.url, server.pins
    request = pb.InspectMcpServerRequest(
        organization=slug,
        url=url,
        credential=body.server,
        pins=pins if body.pins is None else body.pins,
    )
    response = await call(api.services.tools.InspectMcpServer, request, _SECONDS)
    api.headers["cache-control"] = "no-store"
    return InspectedServer(
        organization=slug,
        server=body.server,
        url=url,
        tools=[_tool(each) for each in response.tools],
    )


async def _stored(api: Call, slug: str) -> dict[str, Mapping[str, Any]]:
    """Return the servers of the settings. A member beside `setups` comes before one in it."""
    organization = await read(api, slug)
    api.set_etag(organization.etag)
    api.headers["cache-control"] = "no-store"
    settings = json.loads(organization.organization.settings_json or "{}")
    inner = _object(_object(_object(settings, "setups"), "default"), "mcp_servers")
    servers = {**inner, **_object(settings, "mcp_servers")}
    return {
        name: server
        for name, server in servers.items()
        if isinstance(server, Mapping) and isinstance(server.get("url"), str) and server["url"]
    }


def _server(name: str, server: Mapping[str, Any]) -> McpServer:
    pins = {
        tool: pin
        for tool, pin in _object(server, "pins").items()
        if isinstance(pin, str) and _PIN.fullmatch(pin)
    }
    return McpServer(
        name=name,
        url=server["url"],
        has_token=bool(server.get("token") or server.get("api_key")),
        pins=pins,
        pinned=bool(pins),
    )


def _object(settings: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a member that should be an object, or an empty one: people edit settings by hand."""
    value = settings.get(name)
    return value if isinstance(value, Mapping) else {}


def _tool(inspected: pb.InspectedMcpTool) -> InspectedTool:
    schema = inspected.input_schema_json
    return InspectedTool(
        name=inspected.name,
        title=inspected.title,
        description=inspected.description,
        input_schema=json.loads(schema) if schema else None,
        pin=inspected.pin,
        state=_STATES[inspected.state],
        problem=inspected.problem,
    )
