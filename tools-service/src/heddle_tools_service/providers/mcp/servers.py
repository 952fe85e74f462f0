"""Which MCP servers an assistant may use, and using them."""

import asyncio
import importlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar
from urllib.parse import urlsplit

import httpx
from heddle_runtime.identity import DEFAULT_ORGANIZATION
from heddle_runtime.owner_settings import OwnerSettings

from heddle_tools_service.providers.mcp.reach import Reach
from heddle_tools_service.providers.owner_servers import server_address, settings_of
from heddle_tools_service.remote_servers import RemoteServer, RemoteSession
from heddle_tools_service.sdk import Assistant, ToolError, ToolUnavailableError

ValueT = TypeVar("ValueT")
CONFIGURATION_ERROR = "MCP configuration error:"
_MOST_PROCESSES = 8
"""Commands that run at once; more wait."""
_LAST_WORDS = 5.0
"""Seconds for servers to end when the service stops."""
_SESSION = "heddle_tools_service.providers.mcp.session"


def _processes() -> asyncio.Semaphore:
    return asyncio.Semaphore(_MOST_PROCESSES)


@dataclass(frozen=True)
class McpServers:
    """The servers of all assistants."""

    http: httpx.AsyncClient
    """Goes only where organisations may send it: the authors of assistants write the addresses."""
    commands: Mapping[str, tuple[str, ...]]
    """By name, what the operator lets assistants run."""
    settings: OwnerSettings | None
    """What organisations have set up; None if nobody keeps it."""
    _running: set["asyncio.Task[object]"] = field(default_factory=set)
    _processes: asyncio.Semaphore = field(default_factory=_processes)

    def of(self, assistant: Assistant) -> "OwnServers":
        """Return the servers that `assistant` may use."""
        return OwnServers(self, assistant)

    async def run(
        self,
        find: Callable[[], Awaitable[Reach]],
        work: Callable[[RemoteSession], Awaitable[ValueT]],
    ) -> ValueT:
        """Return what `work` does with a session.

        It has a task of its own: a server's process is stopped in several steps, which must not
        be cut short because whoever waited for the server goes away twice.
        """
        task = asyncio.create_task(self._session(find, work))
        self._running.add(task)
        task.add_done_callback(self._ended)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.cancel()
            raise

    async def close(self) -> None:
        """End what still runs."""
        running = list(self._running)
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running, timeout=_LAST_WORDS)

    async def _session(
        self,
        find: Callable[[], Awaitable[Reach]],
        work: Callable[[RemoteSession], Awaitable[ValueT]],
    ) -> ValueT:
        reach = await find()
        # The SDK takes a second and 20 MB, which not every installation has a use for.
        sdk = await asyncio.to_thread(importlib.import_module, _SESSION)
        try:
            async with asyncio.timeout(reach.seconds):
                if not reach.command:
                    async with sdk.session(reach, self.http) as session:
                        return await work(session)
                async with self._processes, sdk.session(reach, self.http) as session:
                    return await work(session)
        except TimeoutError as error:
            raise ToolUnavailableError(
                f"{reach.who} did not answer within {reach.seconds:.3g} s."
            ) from error

    def _ended(self, task: "asyncio.Task[object]") -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # whoever waited has it, or went away


@dataclass(frozen=True, slots=True)
class OwnServers:
    """The servers of one assistant; see `RemoteServers`."""

    servers: McpServers
    assistant: Assistant

    async def use(
        self, server: RemoteServer, work: Callable[[RemoteSession], Awaitable[ValueT]]
    ) -> ValueT:
        """Return what `work` does with a session of its own."""
        return await self.servers.run(lambda: self._reach(server), work)

    async def _reach(self, server: RemoteServer) -> Reach:
        if server.command:
            who = f"The MCP server {server.command!r}"
            return Reach(who, server.seconds, command=self._command(server.command))
        try:
            url = server_address(server.url)
        except ValueError as error:
            raise ToolError(f"{CONFIGURATION_ERROR} the url {error}") from None
        token = await self._token(server.credential, url) if server.credential else ""
        who = f"The MCP server at {urlsplit(url).hostname!r}"
        return Reach(who, server.seconds, url=server.url, token=token)

    def _command(self, name: str) -> tuple[str, ...]:
        command = self.servers.commands.get(name)
        if command is None:
            raise ToolError(
                f"{CONFIGURATION_ERROR} there is no command {name!r}. The operator allows commands "
                "with HEDDLE_TOOLS_MCP_COMMANDS.",
                kind="unknown_command",
            )
        return command

    async def _token(self, name: str, url: str) -> str:
        """Return what opens a server, if it is that server's."""
        known, assistant = self.servers.settings, self.assistant
        if not assistant.owner and not assistant.organization:  # the operator's
            assistant = replace(assistant, organization=DEFAULT_ORGANIZATION)
        found = await settings_of(known, assistant, CONFIGURATION_ERROR) if known else None
        if found is None or name not in found.mcp_servers:
            raise ToolError(
                f"{CONFIGURATION_ERROR} the assistant's organisation has no credential {name!r}. "
                f"Set mcp_servers.{name}, with url and token, in its settings.",
                kind="unknown_credential",
            )
        server = found.mcp_servers[name]
        # Authors of assistants may use a secret; they must not be able to send it to themselves.
        if url != server.url:
            raise ToolError(
                f"{CONFIGURATION_ERROR} the credential {name!r} is for another server than the "
                "binding's url.",
                kind="foreign_credential",
            )
        return server.token
