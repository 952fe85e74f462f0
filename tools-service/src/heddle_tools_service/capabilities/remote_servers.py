"""Servers that speak MCP, the Model Context Protocol, as tools see them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from heddle_tools_service.sdk import Effect

ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True)
class RemoteServer:
    """The server to connect to, and its credential. Either `url` or `command` is set."""

    url: str
    """The address for streamable HTTP."""
    command: str
    """The operator's name for a command that speaks MCP on its standard streams."""
    credential: str
    """The organisation's name for the credential. Empty if the server needs none."""
    seconds: float
    """The time limit of a use of the server."""


@dataclass(frozen=True, slots=True)
class RemoteTool:
    """A tool of a server, as the server describes it."""

    name: str
    description: str
    schema: Mapping[str, Any]
    """The JSON Schema of its arguments. It is untrusted: Heddle must not evaluate it."""
    title: str = ""
    """The server's name of it for people. Models do not see it."""
    accepted: str = ""
    """The hash of the definition that the assistant's organisation has accepted; empty if none."""
    effect: Effect = "destructive"
    """What a call can change, as the server declares."""


@dataclass(frozen=True, slots=True)
class RemoteAnswer:
    """The result or the failure of a call of a remote tool."""

    text: str
    failed: bool
    """Whether `text` says why there is no result."""
    left_out: Sequence[str] = ()
    """The parts of the answer that are no text, for example `an image (image/png)`."""


class RemoteSession(Protocol):
    """A conversation with one server. Failures are raised as `ToolError`."""

    async def tools(self) -> Sequence[RemoteTool]:
        """Return all tools that the server has."""

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> RemoteAnswer:
        """Call a tool by the server's name for it."""


class RemoteServers(Protocol):
    """The servers that an assistant may use."""

    async def use(
        self, server: RemoteServer, work: Callable[[RemoteSession], Awaitable[ValueT]]
    ) -> ValueT:
        """Call `work` with a session with the server, and return its result.

        Uses of one run share a session; other runs have others.

        Raises:
            ToolError: The server is not permitted, refuses, or returns an invalid answer.
            ToolUnavailableError: It does not answer, or not in time.
        """
