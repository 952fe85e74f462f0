"""Counts one answer, also if it fails or is cancelled."""

import asyncio
from collections.abc import Sequence
from typing import Self

from heddle.chat.v1 import chat_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb

from heddle_orchestrator.metering.meter import Key, Meter
from heddle_orchestrator.metering.usage_counter import Tokens
from heddle_orchestrator.plan import Plan

_MAX_TOKENS = 100_000_000
"""The maximum number of tokens of one answer. Heddle ignores larger numbers of a provider."""
_CANCELLED = (asyncio.CancelledError, GeneratorExit)


class Counting:
    """Counts the answer of one request to a model.

    Use as `with Counting(…) as counted:`, and store the latest events in `counted.last`.
    """

    __slots__ = ("_charged", "_meter", "_prepared", "_reservation", "last")

    last: Sequence[pb.RunEvent]
    """The latest events."""

    def __init__(
        self,
        meter: Meter,
        plan: Plan,
        reservation: str = "",
    ) -> None:
        self._meter = meter
        self._charged = charged_assistant(plan)
        self._reservation = reservation
        self._prepared = plan.prepared
        self.last = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._charged:
            self._count(kind)
        if self._reservation:
            self._meter.settle(self._reservation)

    def _count(self, kind: type[BaseException] | None) -> None:
        ending = self.last[-1] if self.last else None
        if ending is not None and ending.HasField("done"):
            done = ending.done
            key = self._key(done.substitute)
            self._meter.add(key, _tokens(done.usage) if done.HasField("usage") else None)
        elif ending is not None or (kind is not None and issubclass(kind, _CANCELLED)):
            # The provider generated tokens, or may have: only a rejected request has none.
            self._meter.add(self._key(""), None)

    def _key(self, substitute: str) -> Key:
        if not substitute:
            return self._charged, self._prepared.connector, self._prepared.model
        connector, _, name = substitute.partition("/")
        return self._charged, connector, name


def charged_assistant(plan: Plan) -> str:
    """Return the id of the assistant that an answer is charged to; empty if there is none."""
    if plan.request.HasField("assistant_reference"):
        return plan.assistant.id
    return plan.request.charged_to


def _tokens(usage: chat_pb2.Usage) -> Tokens | None:
    """Return the provider's token counts, None if they are not plausible."""
    prompt, completion = usage.prompt_tokens, usage.completion_tokens
    if not (0 <= prompt <= _MAX_TOKENS and 0 <= completion <= _MAX_TOKENS):
        return None
    return Tokens(prompt, min(max(0, usage.cached_tokens), prompt), completion)
