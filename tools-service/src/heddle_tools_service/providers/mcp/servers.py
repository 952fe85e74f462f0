"""Selects the MCP servers that an assistant may use, and connects to them."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from heddle.account.v1.account_pb2 import McpServer
from heddle_runtime.http.egress import server_address
from heddle_runtime.identity.call_metadata import caller
from heddle_runtime.rpc.organization_settings import OrganizationSettings

from heddle_tools_service.capabilities.remote_servers import RemoteServer, RemoteSession
from heddle_tools_service.providers.mcp.conversations import Conversations
from heddle_tools_service.providers.mcp.reachability import Reach
from heddle_tools_service.providers.owner_settings import settings_of
from heddle_tools_service.sdk import Assistant, ToolError, ToolUnavailableError

ValueT = TypeVar("ValueT")
CONFIGURATION_ERROR = "MCP configuration error:"


@dataclass(frozen=True, slots=True)
class AssistantServers:
    """The MCP servers of one assistant: the capability `RemoteServers`."""

    conversations: Conversations
    commands: Mapping[str, tuple[str, ...]]
    """The commands that the operator lets assistants run, by name."""
    settings: OrganizationSettings | None
    """None if no service has settings of organisations."""
    assistant: Assistant

    async def use(
        self, server: RemoteServer, work: Callable[[RemoteSession], Awaitable[ValueT]]
    ) -> ValueT:
        """Call `work` with the run's session with the server, and return its result."""
        reach = await self._reach(server)
        call = caller()
        # Clients may choose the id of a request, so it does not make a session theirs by itself.
        run = (call.request_id or object(), call.identity, self.assistant)
        key = (*run, reach.url, reach.token, reach.command)
        as_tool_error: Callable[[Exception], ToolError] | None = None
        try:
            async with (
                asyncio.timeout(reach.seconds),
                self.conversations.joined(key, reach) as session,
            ):
                as_tool_error = session.begin()
                return await work(session)
        except ToolError as error:
            raise _with_place(error, reach) from error.__cause__
        except TimeoutError as error:
            message = f"{reach.who} did not answer within {reach.seconds:.3g} s."
            raise _with_place(ToolUnavailableError(message), reach) from error
        except Exception as error:
            if as_tool_error is None:
                raise
            raise _with_place(as_tool_error(error), reach) from error

    async def _reach(self, server: RemoteServer) -> Reach:
        if server.command:
            command = self._command(server.command)
            return Reach(server.seconds, command=command, name=server.command)
        stored = await self._stored(server.credential) if server.credential else McpServer()
        url = server.url or stored.url
        try:
            address = server_address(url)
        except ValueError as error:
            raise ToolError(f"{CONFIGURATION_ERROR} the url {error}") from None
        # Authors of assistants may use a secret; they must not be able to send it to themselves.
        if server.credential and address != stored.url:
            raise ToolError(
                f"{CONFIGURATION_ERROR} the credential {server.credential!r} is for another server "
                "than the binding's url.",
                kind="foreign_credential",
            )
        return Reach(server.seconds, url=url, token=stored.token, pins=stored.pins)

    def _command(self, name: str) -> tuple[str, ...]:
        command = self.commands.get(name)
        if command is None:
            raise ToolError(
                f"{CONFIGURATION_ERROR} the operator does not allow the command {name!r}.",
                kind="unknown_command",
                diagnosis="Allow it with HEDDLE_TOOLS_MCP_COMMANDS.",
            )
        return command

    async def _stored(self, name: str) -> McpServer:
        """Return the organisation's settings of a server."""
        settings = await settings_of(self.settings, self.assistant, CONFIGURATION_ERROR)
        if name not in settings.mcp_servers:
            raise ToolError(
                f"{CONFIGURATION_ERROR} the assistant's organisation has no credential {name!r}. "
                "Ask its administrator.",
                kind="unknown_credential",
                diagnosis=f"Set mcp_servers.{name}, with url and token, in its settings.",
            )
        return settings.mcp_servers[name]


def _with_place(error: ToolError, reach: Reach) -> ToolError:
    error.diagnosis = ": ".join(filter(None, (reach.place, error.diagnosis)))
    return error
