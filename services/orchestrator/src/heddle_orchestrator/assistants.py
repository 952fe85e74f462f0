"""Finding the assistant that a request wants."""

import time
from typing import TYPE_CHECKING, Protocol

from heddle.assistant.v1 import assistant_pb2
from heddle_runtime.boundary import Context
from heddle_runtime.calls import caller, onward
from heddle_runtime.identity import ANONYMOUS, Identity

if TYPE_CHECKING:
    from heddle.assistant.v1.assistant_pb2_grpc import AssistantServiceAsyncStub

_LARGEST_CACHE = 1024


class Assistants(Protocol):
    """Where kept assistants come from."""

    def known(self, reference: str) -> assistant_pb2.Assistant | None:
        """Return the assistant that the caller means by `reference`, if that is known already."""

    async def get(self, reference: str, context: Context) -> assistant_pb2.Assistant:
        """Return the assistant that the caller means by `reference`, or raise NotFoundError."""


class KeptAssistants:
    """Asks the assistant service, and remembers for a moment what it said to whom."""

    def __init__(self, service: "AssistantServiceAsyncStub", seconds: float) -> None:
        self._service = service
        self._seconds = seconds
        self._known: dict[tuple[str, Identity], tuple[float, assistant_pb2.Assistant]] = {}

    def known(self, reference: str) -> assistant_pb2.Assistant | None:
        """Return the assistant that the caller means by `reference`, if it was read of late."""
        known = self._known.get((reference, caller().identity))
        return known[1] if known and time.monotonic() < known[0] else None

    async def get(self, reference: str, context: Context) -> assistant_pb2.Assistant:
        """Read the assistant that the caller means by `reference`.

        Raises:
            NotFoundError: There is none that the caller may use.
        """
        key = (reference, caller().identity)
        now = time.monotonic()
        request = assistant_pb2.GetAssistantRequest(reference=reference)
        response = await self._service.GetAssistant(request, **onward(context))
        if len(self._known) >= _LARGEST_CACHE:
            self._known.clear()
        self._known[key] = (now + self._seconds, response.assistant)
        return response.assistant


def owned_by_caller(assistant: assistant_pb2.Assistant) -> assistant_pb2.Assistant:
    """Return an inline assistant in the name of the caller.

    Tools judge access by the assistant's owner. Who sends an assistant along cannot be someone
    else by writing so.
    """
    identity = caller().identity
    if identity == ANONYMOUS:  # development on one machine: there is nobody else
        return assistant
    own = assistant_pb2.Assistant()
    own.CopyFrom(assistant)
    own.owner = identity.subject
    own.organization = identity.organization
    return own
