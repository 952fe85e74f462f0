"""Looks up the assistant of a request, and caches it."""

import time
from functools import partial
from typing import NamedTuple

from heddle.assistant.v1 import assistant_pb2
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle.assistant.v1.assistant_pb2_grpc import AssistantServiceAsyncStub
from heddle_runtime.errors import QUOTA_SPENT, QuotaExceededError
from heddle_runtime.identity.call_metadata import Context, caller, remaining
from heddle_runtime.identity.callers import SERVICE, Identity
from heddle_runtime.identity.permissions import require
from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.rpc.ttl_cache import TTLCache
from heddle_runtime.telemetry.metrics import table

from heddle_orchestrator.metering.meter import Meter
from heddle_orchestrator.output.hosts import joined
from heddle_orchestrator.prepared import PreparedAssistant, prepare

_MICROS = 1_000_000


class Budget:
    """The rest of an assistant's quota, as far as this process knows."""

    __slots__ = ("_baseline", "_counter", "_left", "_price", "_problem")

    def __init__(self, assistant: str, quota: pb.Quota, meter: Meter, started: float) -> None:
        self._left = (quota.limit_micros - quota.spent_micros) * _MICROS
        self._price = quota.price
        self._problem = quota.problem
        self._counter = meter.counter(assistant)
        self._baseline = self._counter.recorded_by(started)

    def check(self) -> None:
        """Raise an error if nothing is left.

        Tokens that this process counted and the quota does not contain yet are charged at the price
        of the assistant's own model.

        Raises:
            QuotaExceededError: Nothing is left, or the quota cannot be computed.
        """
        uncounted = self._counter.counted.minus(self._baseline)
        if uncounted.cost(self._price) >= self._left:
            table.QUOTA_REFUSALS.add(1, "spent")
            raise QuotaExceededError(self._problem or QUOTA_SPENT)


def budget(response: pb.GetAssistantResponse, meter: Meter, started: float) -> Budget | None:
    """Return the budget of an assistant whose reading began at `started`; None without a quota."""
    if not response.HasField("quota"):
        return None
    return Budget(response.assistant.id, response.quota, meter, started)


ID_PREFIX = "lamb_assistant."
"""The prefix of references that are identifiers. A reference without it is a name."""
_MAX_CACHED = 1024
_TIMEOUT_SECONDS = 10.0
_Key = tuple[str, Identity]


class CachedAssistant(NamedTuple):
    """An assistant that the caller may use."""

    prepared: PreparedAssistant
    budget: Budget | None
    readable: bool
    """Whether the caller may read it, with the traces of its runs."""


class CachedAssistants:
    """Reads assistants from the assistants service, and caches them by caller."""

    def __init__(
        self,
        service: AssistantServiceAsyncStub,
        credentials: ServiceCredentials,
        seconds: float,
        meter: Meter,
    ) -> None:
        self._service = service
        self._credentials = credentials
        self._meter = meter
        self._cache: TTLCache[_Key, CachedAssistant] = TTLCache(seconds, _MAX_CACHED)

    async def get(self, reference: str, context: Context) -> CachedAssistant:
        """Return the assistant of a reference, for the caller, and its budget if it has a quota.

        Raises:
            NotFoundError: There is no such assistant that the caller may use.
            QuotaExceededError: Its quota is used up.
            DeadlineError: It could not be read in time.
            InvalidRequestError: It cannot run; see `prepare`.
        """
        key = (reference, caller().identity)
        cached = await self._cache.get(key, partial(self._read, *key), remaining(context))
        if cached.budget is not None:
            cached.budget.check()
        return cached

    async def _read(self, reference: str, identity: Identity) -> CachedAssistant:
        started = time.monotonic()
        user = assistant_pb2.User(
            subject=identity.subject, organization=identity.organization, scopes=identity.scopes
        )
        request = assistant_pb2.GetAssistantRequest(reference=reference, user=user)
        # As the service: a user may run an assistant that it may not read.
        method = self._service.GetAssistant
        response = await self._credentials.call(method, request, _TIMEOUT_SECONDS)
        quota = budget(response, self._meter, started)
        assistant = limited_to(response.assistant, response.organization_output_hosts)
        return CachedAssistant(prepare(assistant), quota, response.readable)


def limited_to(assistant: assistant_pb2.Assistant, hosts: str) -> assistant_pb2.Assistant:
    """Return an assistant whose answers link only to hosts that `hosts` permits too."""
    if not hosts:
        return assistant
    limited = assistant_pb2.Assistant()
    limited.CopyFrom(assistant)
    limited.output_hosts = joined(assistant.output_hosts, hosts)
    return limited


def owned_by_caller(assistant: assistant_pb2.Assistant) -> assistant_pb2.Assistant:
    """Return an inline assistant with the caller as its owner.

    Tools check access by the assistant's owner. A caller cannot name another owner, except a
    service of Heddle, which has checked the owner itself.

    Raises:
        PermissionDeniedError: The caller may not try assistants.
    """
    identity = caller().identity
    if SERVICE in identity.scopes:
        return assistant
    require(identity, "manage_assistants")
    own = assistant_pb2.Assistant()
    own.CopyFrom(assistant)
    own.owner = identity.subject
    own.organization = identity.organization
    return own
