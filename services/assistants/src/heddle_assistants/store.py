"""The form in which all stores return assistants, and the references to them."""

from dataclasses import dataclass, field

from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_runtime.errors import Violation

from heddle_assistants.database.assistant_row import NOBODY, Shares

_ID_PREFIX = "lamb_assistant."
_NAME_PREFIX = "LAMB:"


@dataclass(frozen=True, slots=True)
class StoredAssistant:
    """An assistant in a store."""

    assistant: pb.Assistant
    etag: str
    published: bool
    warnings: list[Violation] = field(default_factory=list)
    """The faults of a file; a background check adds some later."""
    example: bool = False
    """Whether those who may use it may read and copy it."""
    shares: Shares = NOBODY
    """The users with whom it is shared, besides being published."""

    @property
    def owner(self) -> str:
        """The owner."""
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
