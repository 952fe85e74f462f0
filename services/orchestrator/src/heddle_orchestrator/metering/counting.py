"""Counting one answer, however it ends."""

import asyncio
from collections.abc import Sequence
from typing import Self

from heddle.assistant.v1.assistant_pb2 import Assistant
from heddle.chat.v1 import chat_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb

from heddle_orchestrator.metering.meter import Key, Meter
from heddle_orchestrator.metering.tally import Tokens

_MOST = 100_000_000
"""Tokens of one answer that are believed."""
_LEFT = (asyncio.CancelledError, GeneratorExit)


def counting(meter: Meter, request: pb.RunCompletionRequest, assistant: Assistant) -> "Counting":
    """Return what counts the answer to a request, from before the model is asked.

    Use as `with counting(…) as counted:`, and keep `counted.last` up to date.
    """
    kept = request.HasField("assistant_reference")
    charged = assistant.id if kept else request.charged_to
    return Counting(meter, charged, assistant)


class Counting:
    """An answer that is under way."""

    __slots__ = ("_assistant", "_charged", "_meter", "last")

    last: Sequence[pb.RunEvent]
    """What happened last."""

    def __init__(self, meter: Meter, charged: str, assistant: Assistant) -> None:
        self._meter = meter
        self._charged = charged
        self._assistant = assistant
        self.last = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if not self._charged:
            return
        ending = self.last[-1] if self.last else None
        if ending is not None and ending.HasField("done"):
            done = ending.done
            key = self._key(done.substitute)
            self._meter.add(key, _tokens(done.usage) if done.HasField("usage") else None)
        elif ending is not None or (kind is not None and issubclass(kind, _LEFT)):
            # Something was made, or may have been: a provider that refuses makes nothing.
            self._meter.add(self._key(""), None)

    def _key(self, substitute: str) -> Key:
        model = self._assistant.model
        if not substitute:
            return self._charged, model.connector, model.model
        connector, _, name = substitute.partition("/")
        return self._charged, connector, name


def _tokens(usage: chat_pb2.Usage) -> Tokens | None:
    """Return what a provider says that an answer took, None if that cannot be."""
    prompt, completion = usage.prompt_tokens, usage.completion_tokens
    if not (0 <= prompt <= _MOST and 0 <= completion <= _MOST):
        return None
    return Tokens(prompt, min(max(0, usage.cached_tokens), prompt), completion)
