"""An assistant as every store returns it, and the ways to refer to one."""

from dataclasses import dataclass, field

from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_runtime.errors import Violation

from heddle_assistants.repository.row import NOBODY, Shares

_ID_PREFIX = "lamb_assistant."
_NAME_PREFIX = "LAMB:"


@dataclass(frozen=True, slots=True)
class StoredAssistant:
    """An assistant in a store."""

    assistant: pb.Assistant
    etag: str
    published: bool
    warnings: list[Violation] = field(default_factory=list)
    """Faults of a file; some are found later, in the background."""
    shares: Shares = NOBODY
    """Whom it is shared with besides."""

    @property
    def owner(self) -> str:
        """Who owns it."""
        return self.assistant.owner

    @property
    def organization(self) -> str:
        """The owner's organisation, if it has one."""
        return self.assistant.organization


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
