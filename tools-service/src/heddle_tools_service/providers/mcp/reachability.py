"""The address and credentials of a permitted MCP server."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from heddle_runtime.redaction import REDACTED


@dataclass(frozen=True, slots=True)
class Reach:
    """The server to connect to, and its credentials. Either `url` or `command` is set."""

    seconds: float
    """The time limit of a use of the server."""
    url: str = ""
    token: str = field(default="", repr=False)
    command: tuple[str, ...] = ()
    """A program and its arguments."""
    name: str = ""
    """The operator's name of the command."""
    pins: Mapping[str, str] = field(default_factory=dict)
    """The accepted definition of each tool, as a hash, by the tool's name."""

    @property
    def who(self) -> str:
        """The server as the subject of messages for users."""
        return f"The MCP server {self.name!r}" if self.name else "The MCP server of the tool"

    @property
    def place(self) -> str:
        """The address or the program of the server, for operators."""
        return self.url or " ".join(self.command)

    def without_secret(self, text: str) -> str:
        """Return a server's text without its token, which the server may have echoed."""
        return text.replace(self.token, REDACTED) if self.token else text
