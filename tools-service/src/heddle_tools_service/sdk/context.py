"""Whom a tool works for, and the results of earlier tools."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Assistant:
    """The assistant that answers."""

    id: str = ""
    name: str = ""
    title: str = ""
    description: str = ""
    owner: str = ""
    """Decides what the assistant may read; usually an e-mail address."""
    organization: str = ""
    system_prompt: str = ""
    prompt_template: str = ""
    connector: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Caller:
    """The user who sends the request, as the gateway authenticated it.

    Never taken from a request's content.
    """

    subject: str = "anonymous"
    organization: str = ""
    scopes: tuple[str, ...] = ()
    client_user: str = ""
    """The user's number at a trusted client that sends no e-mail address; else empty."""


@dataclass(frozen=True, slots=True)
class EarlierResult:
    """What another tool of the same run put into its slot. Only if tools run one by one."""

    id: str
    tool: str
    slot: str
    text: str
