"""Shows administrators the tools of an MCP server, and which have changed since acceptance."""

import asyncio
import json
from collections.abc import Callable, Mapping

from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors import InvalidRequestError, NotFoundError, Violation
from heddle_runtime.identity.callers import Identity
from heddle_runtime.identity.permissions import may_administer, may_administer_in
from pydantic import ValidationError

from heddle_tools_service.capabilities.remote_servers import (
    RemoteServers,
    RemoteTool,
)
from heddle_tools_service.contract.descriptions import EFFECTS
from heddle_tools_service.contract.results import failure
from heddle_tools_service.definitions.schemas import schema_problems
from heddle_tools_service.definitions.validation_errors import Noun, model_violations
from heddle_tools_service.sdk import Assistant, ToolError
from heddle_tools_service.tools.mcp_acceptance import acceptable_form
from heddle_tools_service.tools.mcp_options import McpConfig

MCP = "mcp"
"""The tool that calls these servers."""
_SECONDS = 20.0
"""The most time for a server."""
_REQUEST = Noun("", "a field of the request", "request")


class McpInspection:
    """Connects to MCP servers for administrators."""

    def __init__(self, servers: Callable[[Assistant], RemoteServers]) -> None:
        """Take the function that returns the servers that an assistant may use."""
        self._servers = servers

    async def tools(
        self, request: pb.InspectMcpServerRequest, identity: Identity, remaining: float
    ) -> list[pb.InspectedMcpTool]:
        """Return the tools of a server, compared with pins.

        Args:
            request: The server, and the pins.
            identity: The caller.
            remaining: Seconds until the deadline of the call.

        Raises:
            NotFoundError: The caller does not administer the organisation.
            InvalidRequestError: The request names no server, or several.
            HeddleError: The server may not be reached, does not answer or does not speak MCP.
        """
        _require_administrator(identity, request.organization)
        pins = dict(request.pins)
        config = _config(request, pins)
        servers = self._servers(Assistant(organization=request.organization))
        try:
            server = config.server(remaining, _SECONDS)
            tools = await servers.use(server, lambda session: session.tools())
        except ToolError as error:
            raise failure(MCP, error) from error
        # In a thread: the schemas of a stranger may take a second.
        compared = await asyncio.to_thread(
            lambda: [_inspected(each, pins.get(each.name, "")) for each in tools]
        )
        absent = sorted(pins.keys() - {each.name for each in tools})
        state = pb.PIN_STATE_MISSING
        return [*compared, *(pb.InspectedMcpTool(name=name, state=state) for name in absent)]


def _require_administrator(identity: Identity, organization: str) -> None:
    # Without an organisation, the credentials are those of the operator's own assistants.
    if organization:
        allowed = may_administer_in(identity, organization)
    else:
        allowed = may_administer(identity)
    if not allowed:
        raise NotFoundError(f"There is no organisation {organization[:100]!r}.")


def _config(request: pb.InspectMcpServerRequest, pins: Mapping[str, str]) -> McpConfig:
    try:
        return McpConfig(
            url=request.url,
            command=request.command,
            credential=request.credential,
            pins=dict(pins),
        )
    except ValidationError as error:
        violations = [
            Violation(each.field.lstrip(".") or "url", each.description)
            for each in model_violations(error, _REQUEST)
        ]
        raise InvalidRequestError("The request names no server.", violations) from None


def _inspected(remote_tool: RemoteTool, accepted: str) -> pb.InspectedMcpTool:
    pin, problem = acceptable_form(remote_tool)
    if not problem and (problems := schema_problems(remote_tool.schema)):
        name = remote_tool.name[:80]
        problem = (
            f"The schema of the tool {name!r} is not JSON Schema, see {'; see '.join(problems)}. "
            "Its server must correct it."
        )
    return pb.InspectedMcpTool(
        name=remote_tool.name,
        title=remote_tool.title,
        description=remote_tool.description,
        input_schema_json=_text(remote_tool),
        pin="" if problem else pin,
        state=_state(pin, accepted),
        problem=problem,
        effect=EFFECTS[remote_tool.effect],
    )


def _state(pin: str, accepted: str) -> "pb.PinState.ValueType":
    if not accepted:
        return pb.PIN_STATE_NEW
    return pb.PIN_STATE_UNCHANGED if pin == accepted else pb.PIN_STATE_CHANGED


def _text(remote_tool: RemoteTool) -> str:
    try:
        return json.dumps(remote_tool.schema, ensure_ascii=False)
    except (ValueError, RecursionError):
        return ""
