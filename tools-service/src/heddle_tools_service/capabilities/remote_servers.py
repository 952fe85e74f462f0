"""Servers that speak MCP, the Model Context Protocol, as tools see them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True)
class RemoteServer:
    """Which server is meant, and what opens it. Either `url` or `command` is set."""

    url: str
    """Where it is reached over streamable HTTP."""
    command: str
    """The operator's name for the command that is run and spoken to over its streams."""
    credential: str
    """The organisation's name for what opens it. Empty if nothing does."""
    seconds: float
    """How long using it may take."""


@dataclass(frozen=True, slots=True)
class RemoteTool:
    """A tool of a server, as the server describes it."""

    name: str
    description: str
    schema: Mapping[str, Any]
    """The JSON Schema of its arguments. A stranger's: not to be evaluated here."""
    title: str = ""
    """The server's name of it for people. Models do not see it."""
    accepted: str = ""
    """The pin of the form that the assistant's organisation has accepted, empty if none is."""


@dataclass(frozen=True, slots=True)
class RemoteAnswer:
    """What a call of a tool came to."""

    text: str
    failed: bool
    """Whether `text` says why there is no result."""
    left_out: Sequence[str] = ()
    """What else was answered that is no text, for example `an image (image/png)`."""


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
        """Return what `work` returns, which is given a session with the server.

        Uses of one run share a session; other runs have others.

        Raises:
            ToolError: The server may not be reached or used so, or answers with nonsense.
            ToolUnavailableError: It does not answer, or not in time.
        """
