"""Refusing to answer when a quota is used up."""

from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_runtime.errors import ResourceExhaustedError

from heddle_orchestrator.metering.meter import Meter

_MICROS = 1_000_000
_USED_UP = "The assistant has spent what its quota allows. Its owner can raise the limit."


class Budget:
    """What an assistant may still spend, as far as this process can know."""

    __slots__ = ("_base", "_left", "_price", "_problem", "_tally")

    def __init__(self, assistant: str, quota: pb.Quota, meter: Meter, asked: float) -> None:
        self._left = (quota.limit_micros - quota.spent_micros) * _MICROS
        self._price = quota.price
        self._problem = quota.problem
        self._tally = meter.tally(assistant)
        self._base = self._tally.told_by(asked)

    def check(self) -> None:
        """Refuse to go on if nothing is left.

        What this process counted and the quota does not know of yet is held against it, at the
        price of the assistant's own model.

        Raises:
            ResourceExhaustedError: Nothing is left, or nobody can tell how much.
        """
        more = self._tally.seen.minus(self._base)
        spent = (
            (more.prompt - more.cached) * self._price.input_micros
            + more.cached * self._price.cached_input_micros
            + more.completion * self._price.output_micros
        )
        if spent >= self._left:
            raise ResourceExhaustedError(self._problem or _USED_UP, quota="assistant")


def budget(response: pb.GetAssistantResponse, meter: Meter, asked: float) -> Budget | None:
    """Return the budget of an assistant that was asked for at a moment, None without a quota."""
    if not response.HasField("quota"):
        return None
    return Budget(response.assistant.id, response.quota, meter, asked)
