"""Replicas that report that they cannot work."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from heddle.orchestrator.v1 import orchestrator_pb2_grpc as pb_grpc
from heddle_runtime.errors import StorageError
from heddle_runtime.rpc.client import channel
from heddle_runtime.serving.server import Binding, Running, bind, running
from runtime.greeting import CONTRACT
from runtime.multiplex.calling import AT_ONCE, Channel, listed
from runtime.replicas.counting import Counting


@dataclass
class Replica:
    """A server with a component that may fail."""

    broken: bool = False
    servicer: Counting = field(default_factory=Counting)

    async def check(self) -> None:
        """Check the component."""
        if self.broken:
            raise StorageError("The disk is full.")

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[Running]:
        """Serve."""

        @asynccontextmanager
        async def app() -> AsyncGenerator[Sequence[Binding]]:
            register = pb_grpc.add_OrchestratorServiceServicer_to_server
            yield [bind(register, self.servicer, {"disk": self.check})]

        async with running(app(), AT_ONCE) as server:
            yield server


async def share(to: Channel, replica: Replica) -> int:
    """Return how many of ten calls a replica gets."""
    before = replica.servicer.calls
    for _ in range(10):
        await listed(to)
    return replica.servicer.calls - before


async def test_a_replica_that_cannot_work_gets_no_calls_until_it_can() -> None:
    first, second = Replica(), Replica(broken=True)
    async with (
        first.serving() as one,
        second.serving() as other,
        channel(f"{one.address},{other.address}", CONTRACT) as to,
    ):
        await to.channel_ready()
        await _until_share(to, second, 0)
        second.broken = False
        await _until_share(to, second, 5)
        first.broken = True
        await _until_share(to, second, 10)
        second.broken = True  # there is no better one
        await _until_share(to, second, 5)


async def _until_share(to: Channel, replica: Replica, calls: int) -> None:
    """Wait until a replica gets so many of ten calls."""
    async with asyncio.timeout(30):
        while await share(to, replica) != calls:
            await asyncio.sleep(0.05)
