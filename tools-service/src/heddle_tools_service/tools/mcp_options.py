"""The options that the author of an assistant sets for an MCP server."""

import math
import re
from typing import Self

from pydantic import Field, model_validator

from heddle_tools_service.capabilities.remote_servers import RemoteServer
from heddle_tools_service.sdk import ToolConfig

_PIN = r"sha256:[0-9a-f]{64}"
_OF_TIME = 0.9
"""The share of the call's time for the server; the rest is for reporting its failure."""


class McpConfig(ToolConfig):
    """The MCP server, and the functions of it that the assistant uses."""

    url: str = Field(
        title="Address",
        default="",
        max_length=2_000,
        pattern=r"^$|^https?://[^\s/?#@\\]+(/[^\s?#\\]*)?$",
        description="Address of a server that speaks streamable HTTP, without query.",
        examples=["https://mcp.example.org/mcp"],
    )
    command: str = Field(
        title="Command",
        default="",
        max_length=100,
        description="In place of the url: the name of a command that the operator allows "
        "(HEDDLE_TOOLS_MCP_COMMANDS).",
    )
    credential: str = Field(
        title="Credential",
        default="",
        max_length=100,
        description="Name of what opens the server, among mcp_servers in the settings of the "
        "assistant's organisation. Only for the url that stands there.",
    )
    tools: tuple[str, ...] = Field(
        title="Functions",
        default=(),
        max_length=100,
        description="The server's tools that the model may call, by the server's names.",
        examples=[["search"]],
    )
    pins: dict[str, str] = Field(
        title="Accepted forms",
        default={},
        description="By a tool's name, the form in which it was accepted, as `heddle mcp pins` "
        "prints it. A tool that has changed since, or was accepted neither here nor in the "
        "settings of the organisation, is held back.",
        examples=[
            {"search": "sha256:cf74d694150d5d20ac2981ce50dc045f56f50c570380b49c98bcbca739bae995"}
        ],
    )

    @model_validator(mode="after")
    def _one_server(self) -> Self:
        if self.credential and self.command:
            raise ValueError("can name a credential only beside a url")
        if (self.url and self.command) or not (self.url or self.command or self.credential):
            raise ValueError("must name a server, by either url or command")
        for name, pin in self.pins.items():
            if not re.fullmatch(_PIN, pin):
                message = f"must pin {name[:80]!r} with sha256: and 64 hexadecimal digits"
                raise ValueError(message)
        return self

    def server(self, seconds: float, limit: float = math.inf) -> RemoteServer:
        """Return the server for a call with `seconds` left, used for at most `limit` seconds."""
        timeout = min(seconds * _OF_TIME, limit)
        return RemoteServer(self.url, self.command, self.credential, timeout)
