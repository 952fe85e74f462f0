"""Finding the assistant that a request wants."""

import time
from typing import TYPE_CHECKING, Protocol

from heddle.assistant.v1 import assistant_pb2
from heddle_runtime.boundary import Context
from heddle_runtime.calls import caller, onward
from heddle_runtime.identity import ANONYMOUS, SERVICE, Identity

from heddle_orchestrator.metering.budgets import Budget, budget
from heddle_orchestrator.metering.meter import Meter

if TYPE_CHECKING:
    from heddle.assistant.v1.assistant_pb2_grpc import AssistantServiceAsyncStub

BY_ID = "lamb_assistant."
"""What makes a reference of an identifier that is none of a name."""
_LARGEST_CACHE = 1024
_Known = tuple[float, assistant_pb2.Assistant, Budget | None]
"""Until when an assistant is remembered, and what it may spend."""


class Assistants(Protocol):
    """Where kept assistants come from."""

    def known(self, reference: str) -> assistant_pb2.Assistant | None:
        """Return the assistant that the caller means by `reference`, if that is known already."""

    async def get(self, reference: str, context: Context) -> assistant_pb2.Assistant:
        """Return the assistant that the caller means by `reference`, as `KeptAssistants` does."""


class KeptAssistants:
    """Asks the assistant service, and remembers for a moment what it said to whom."""

    def __init__(self, service: "AssistantServiceAsyncStub", seconds: float, meter: Meter) -> None:
        self._service = service
        self._seconds = seconds
        self._meter = meter
        self._known: dict[tuple[str, Identity], _Known] = {}

    def known(self, reference: str) -> assistant_pb2.Assistant | None:
        """Return the assistant that the caller means by `reference`, if it was read of late.

        Raises:
            ResourceExhaustedError: Its quota is used up.
        """
        known = self._known.get((reference, caller().identity))
        if known is None or time.monotonic() >= known[0]:
            return None
        if known[2] is not None:
            known[2].check()
        return known[1]

    async def get(self, reference: str, context: Context) -> assistant_pb2.Assistant:
        """Read the assistant that the caller means by `reference`.

        Raises:
            NotFoundError: There is none that the caller may use.
            ResourceExhaustedError: Its quota is used up.
        """
        key = (reference, caller().identity)
        now = time.monotonic()
        request = assistant_pb2.GetAssistantRequest(reference=reference)
        response = await self._service.GetAssistant(request, **onward(context))
        if len(self._known) >= _LARGEST_CACHE:
            self._known.clear()
        left = budget(response, self._meter, now)
        self._known[key] = (now + self._seconds, response.assistant, left)
        if left is not None:
            left.check()
        return response.assistant


def owned_by_caller(assistant: assistant_pb2.Assistant) -> assistant_pb2.Assistant:
    """Return an inline assistant in the name of the caller.

    Tools judge access by the assistant's owner. Who sends an assistant along cannot be someone
    else by writing so, except a service of Heddle's, which has seen to it.
    """
    identity = caller().identity
    # In development, on one machine, there is nobody else.
    if identity == ANONYMOUS or SERVICE in identity.scopes:
        return assistant
    own = assistant_pb2.Assistant()
    own.CopyFrom(assistant)
    own.owner = identity.subject
    own.organization = identity.organization
    return own
