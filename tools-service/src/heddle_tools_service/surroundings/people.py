"""For whom a tool works, and what others found before it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Assistant:
    """The assistant that is answered as."""

    id: str = ""
    name: str = ""
    title: str = ""
    description: str = ""
    owner: str = ""
    """Whose rights decide what the assistant may read, usually an e-mail address."""
    organization: str = ""
    system_prompt: str = ""
    prompt_template: str = ""
    connector: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, as the gateway established it. Never taken from a request's content."""

    subject: str = "anonymous"
    organization: str = ""
    scopes: tuple[str, ...] = ()
    client_user: str = ""
    """The number of the person at a trusted client that tells no e-mail address; else empty."""


@dataclass(frozen=True, slots=True)
class EarlierResult:
    """What another tool of the same run put into its slot. Only if tools run one by one."""

    id: str
    tool: str
    slot: str
    text: str
