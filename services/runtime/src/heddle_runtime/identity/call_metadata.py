"""The metadata of calls: request id, trace, identity of the caller, grant and timeout.

It is set where a request enters a process, and read where a call leaves the process.
"""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypedDict

import msgspec

from heddle_runtime.identity.callers import NO_IDENTITY, Identity

REQUEST_ID = "x-request-id"
TRACE = "traceparent"
AUTHORIZATION = "authorization"
GRANT = "heddle-grant"
FRESH = "heddle-fresh"


class Caller(msgspec.Struct, frozen=True):
    """The caller of the current request, and the ids that its log lines have in common."""

    request_id: str
    identity: Identity = NO_IDENTITY
    traceparent: str = ""
    grant: str = ""
    """Not verified; see `heddle_runtime.identity.grants`."""
    fresh: bool = False
    """Whether the caller changed settings a moment ago, so that cached ones are loaded again."""


CALLER: ContextVar[Caller] = ContextVar("heddle_caller")
NO_CALLER = Caller("")
_IDS = random.Random()  # noqa: S311 - an id is not a secret


def _unchanged(traceparent: str) -> str:
    return traceparent


trace_of_calls: Callable[[str], str] = _unchanged
"""Returns the trace context of calls; `heddle_runtime.telemetry` names the current span in it."""


class Context(Protocol):
    """The part of a call's context that servicers may use."""

    def time_remaining(self) -> float | None:
        """Return the seconds until the deadline, at least 0; None without a deadline."""


class CallOptions(TypedDict):
    """The keyword arguments of a call to another service."""

    timeout: float
    metadata: tuple[tuple[str, str], ...]


def caller() -> Caller:
    """Return the caller of the current request; one without an identity outside of requests."""
    return CALLER.get(NO_CALLER)


@contextmanager
def calling_as(new: Caller) -> Iterator[None]:
    """Make the calls of the block as another caller."""
    before = CALLER.set(new)
    try:
        yield
    finally:
        CALLER.reset(before)


def on_behalf_of(identity: Identity) -> Caller:
    """Return a caller with the ids of the current request, and without its grant."""
    current = caller()
    return Caller(current.request_id, identity, current.traceparent, fresh=current.fresh)


def new_request_id() -> str:
    """Return a random id for a request."""
    return f"req_{_IDS.getrandbits(96):024x}"


def remaining(context: Context, cap: float = float("inf")) -> float:
    """Return the seconds that a call to another service may take: at most `cap`, at least 0."""
    left = context.time_remaining()
    return cap if left is None or left > cap else left


def call_options(context: Context, cap: float = float("inf")) -> CallOptions:
    """Return the timeout and the metadata of a call that is part of another call.

    The channel adds the authorization (`heddle_runtime.rpc.client.channel`).

    Use as `stub.Method(request, **call_options(context))`. gRPC passes on neither of them.
    """
    return new_call_options(remaining(context, cap))


def new_call_options(timeout: float) -> CallOptions:
    """Return the timeout and the metadata of a call on behalf of the current caller."""
    current = caller()
    metadata: tuple[tuple[str, str], ...] = ((REQUEST_ID, current.request_id or new_request_id()),)
    if current.traceparent:
        metadata += ((TRACE, trace_of_calls(current.traceparent)),)
    if current.grant:
        metadata += ((GRANT, current.grant),)
    if current.fresh:
        metadata += ((FRESH, "true"),)
    return {"timeout": timeout, "metadata": metadata}


class Stopwatch:
    """Measures the time since it was created, with a monotonic clock."""

    __slots__ = ("started",)

    def __init__(self) -> None:
        self.started = time.perf_counter()
        """The time of creation, by `time.perf_counter`."""

    def seconds(self) -> float:
        """Return the seconds, rounded to microseconds."""
        return round((time.perf_counter() - self.started) * 1e6) / 1e6
