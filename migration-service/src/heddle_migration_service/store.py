"""What the service needs of whatever keeps the assistants."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_runtime.identity import ANONYMOUS, Identity

_ID_PREFIX = "lamb_assistant."
_NAME_PREFIX = "LAMB:"


@dataclass(frozen=True, slots=True)
class Kept:
    """An assistant in a store."""

    assistant: pb.Assistant
    etag: str
    published: bool


class Assistants(Protocol):
    """A place where assistants are kept."""

    async def find(self, reference: str, identity: Identity) -> Kept | None:
        """Return the assistant that `identity` may use under `reference`, if there is one."""

    async def visible(self, identity: Identity) -> Iterable[Kept]:
        """Return the published assistants that `identity` may use."""


def candidates(reference: str) -> tuple[str, str]:
    """Return the id and the name that a client may mean by `reference`.

    OpenAI clients say `lamb_assistant.<id>` or `LAMB:<name>`, and Open WebUI may put a prefix of
    its own, which ends in a dot, before either.
    """
    _, marker, rest = reference.rpartition(_ID_PREFIX)
    if marker:
        return rest, ""
    _, marker, rest = reference.rpartition(_NAME_PREFIX)
    if marker:
        return "", rest
    return reference, reference


def may_use(kept: Kept, identity: Identity) -> bool:
    """Return whether `identity` may use an assistant.

    Everyone of its organisation may use a published assistant, its owner also one that is not.
    An assistant without an organisation is everyone's.
    """
    if identity == ANONYMOUS:  # development on one machine: there is nobody else
        return True
    assistant = kept.assistant
    if assistant.owner and assistant.owner == identity.subject:
        return True
    return kept.published and assistant.organization in ("", identity.organization)
