"""What a request carries through all services: its id, its trace, who asks, how long it may take.

Set once, where a request enters a process; read wherever a call leaves it.
"""

import random
import time
from contextvars import ContextVar
from typing import Protocol, TypedDict

import msgspec

from heddle_runtime.identity import ANONYMOUS, Identity

REQUEST_ID = "x-request-id"
TRACE = "traceparent"
AUTHORIZATION = "authorization"
GRANT = "heddle-grant"


class Caller(msgspec.Struct, frozen=True):
    """Who asks, and what ties the log lines of one request together."""

    request_id: str
    identity: Identity = ANONYMOUS
    token: str = ""
    """The signed form of `identity`, handed on as it came."""
    traceparent: str = ""
    grant: str = ""
    """Not verified; see `heddle_runtime.grants`."""


CALLER: ContextVar[Caller] = ContextVar("heddle_caller")
_NOBODY = Caller("")
_IDS = random.Random()  # noqa: S311 - an id is no secret, and must cost nothing


class TimedCall(Protocol):
    """The part of a call's context that knows its deadline."""

    def time_remaining(self) -> float | None:
        """Return the seconds that are left, 0 at least, or None if there is no deadline."""


class CallOptions(TypedDict):
    """The keyword arguments of an onward call."""

    timeout: float
    metadata: tuple[tuple[str, str], ...]


def caller() -> Caller:
    """Return who asks. Outside of a request: nobody."""
    return CALLER.get(_NOBODY)


def new_request_id() -> str:
    """Return an id that no other request has."""
    return f"req_{_IDS.getrandbits(96):024x}"


def remaining(context: TimedCall, cap: float = float("inf")) -> float:
    """Return the seconds that an onward call may take, at most `cap`; 0 if the time is up."""
    left = context.time_remaining()
    return cap if left is None or left > cap else left


def call_options(context: TimedCall, cap: float = float("inf")) -> CallOptions:
    """Return what every onward call needs: what is left of the deadline, and who asks.

    Use as `stub.Method(request, **call_options(context))`: grpc hands neither on by itself.
    """
    return new_call_options(remaining(context, cap))


def new_call_options(timeout: float) -> CallOptions:
    """Return what a call needs that starts here, in the name of the current caller."""
    current = CALLER.get(_NOBODY)
    metadata: tuple[tuple[str, str], ...] = ((REQUEST_ID, current.request_id or new_request_id()),)
    if current.token:
        metadata += ((AUTHORIZATION, f"Bearer {current.token}"),)
    if current.traceparent:
        metadata += ((TRACE, current.traceparent),)
    if current.grant:
        metadata += ((GRANT, current.grant),)
    return {"timeout": timeout, "metadata": metadata}


class Stopwatch:
    """Measures seconds since it was made, by a clock that nobody sets."""

    __slots__ = ("_started",)

    def __init__(self) -> None:
        self._started = time.perf_counter()

    def seconds(self) -> float:
        """Return the seconds so far, in whole microseconds: who writes them down needs no more."""
        return round((time.perf_counter() - self._started) * 1e6) / 1e6
