"""A server that may be reached."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from heddle_runtime.redaction import REDACTED


@dataclass(frozen=True, slots=True)
class Reach:
    """Which server, and how. Either `url` or `command` is set."""

    seconds: float
    """How long using it may take."""
    url: str = ""
    token: str = field(default="", repr=False)
    command: tuple[str, ...] = ()
    """A program and its arguments."""
    name: str = ""
    """The operator's name of the command."""
    pins: Mapping[str, str] = field(default_factory=dict)
    """By a tool's name, the form that the organisation has accepted."""

    @property
    def who(self) -> str:
        """What messages for users call the server."""
        return f"The MCP server {self.name!r}" if self.name else "The MCP server of the tool"

    @property
    def place(self) -> str:
        """The address or the program of the server, for operators."""
        return self.url or " ".join(self.command)

    def without_secret(self, text: str) -> str:
        """Return what the server wrote without its token: a server may send it back."""
        return text.replace(self.token, REDACTED) if self.token else text
