"""A servicer that counts its calls."""

from dataclasses import dataclass

from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle_runtime.identity.call_metadata import Context
from runtime.greeting import Greeter


@dataclass
class Counting(Greeter):
    """Counts its calls."""

    calls: int = 0

    async def ListStrategies(
        self, request: pb.ListStrategiesRequest, context: Context
    ) -> pb.ListStrategiesResponse:
        self.calls += 1
        return await super().ListStrategies(request, context)


def counting() -> Counting:
    """Return one."""
    return Counting()  # type: ignore[abstract] # it does not offer every method
