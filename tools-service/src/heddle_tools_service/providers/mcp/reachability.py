"""A server that may be reached."""

from dataclasses import dataclass, field

from heddle_runtime.redaction import REDACTED


@dataclass(frozen=True, slots=True)
class Reach:
    """Which server, and how. Either `url` or `command` is set."""

    who: str
    """Whom messages name."""
    seconds: float
    """How long using it may take."""
    url: str = ""
    token: str = field(default="", repr=False)
    command: tuple[str, ...] = ()
    """A program and its arguments."""

    def without_secret(self, text: str) -> str:
        """Return what the server wrote without its token: a server may send it back."""
        return text.replace(self.token, REDACTED) if self.token else text
