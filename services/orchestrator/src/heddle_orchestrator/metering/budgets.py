"""Refuses to answer if a quota is used up."""

from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_runtime.errors import QUOTA_SPENT, QuotaExceededError
from heddle_runtime.telemetry.metrics import table

from heddle_orchestrator.metering.meter import Meter

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
