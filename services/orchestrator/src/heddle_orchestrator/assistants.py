"""Finding the assistant that a request wants."""

import time
from typing import TYPE_CHECKING, Protocol

from heddle.assistant.v1 import assistant_pb2
from heddle_runtime.call_metadata import caller, new_call_options, remaining
from heddle_runtime.identity import ANONYMOUS, SERVICE, Identity
from heddle_runtime.server_interceptor import Context
from heddle_runtime.ttl_cache import TTLCache

from heddle_orchestrator.metering.budgets import Budget, budget
from heddle_orchestrator.metering.meter import Meter

if TYPE_CHECKING:
    from heddle.assistant.v1.assistant_pb2_grpc import AssistantServiceAsyncStub

BY_ID = "lamb_assistant."
"""What makes a reference of an identifier that is none of a name."""
_MOST = 1024
_CAP = 10.0  # seconds
_Key = tuple[str, Identity]
_Kept = tuple[assistant_pb2.Assistant, Budget | None]
"""An assistant, and what it may spend."""


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
        self._meter = meter
        self._remembered: TTLCache[_Key, _Kept] = TTLCache(seconds, _MOST)

    def known(self, reference: str) -> assistant_pb2.Assistant | None:
        """Return the assistant that the caller means by `reference`, if it was read of late.

        Raises:
            ResourceExhaustedError: Its quota is used up.
        """
        kept = self._remembered.peek((reference, caller().identity))
        return None if kept is None else _affordable(kept)

    async def get(self, reference: str, context: Context) -> assistant_pb2.Assistant:
        """Read the assistant that the caller means by `reference`.

        Raises:
            NotFoundError: There is none that the caller may use.
            ResourceExhaustedError: Its quota is used up.
            DeadlineError: It could not be read in time.
        """

        async def ask() -> _Kept:
            asked = time.monotonic()
            request = assistant_pb2.GetAssistantRequest(reference=reference)
            response = await self._service.GetAssistant(request, **new_call_options(_CAP))
            return response.assistant, budget(response, self._meter, asked)

        key = (reference, caller().identity)
        return _affordable(await self._remembered.get(key, ask, remaining(context)))


def _affordable(kept: _Kept) -> assistant_pb2.Assistant:
    assistant, left = kept
    if left is not None:
        left.check()
    return assistant


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
