"""Certificates and their authority are replaced while two replicas serve: no call fails."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.orchestrator.v1 import orchestrator_pb2_grpc as pb_grpc
from heddle_runtime.call_metadata import new_call_options
from heddle_runtime.client import channel
from heddle_runtime.mutual_tls import TlsSettings
from heddle_runtime.settings import ServiceSettings
from runtime.certificates import Authority
from runtime.greeting import CONTRACT, Greeter, greeting
from runtime.ports import free_port

Settings = Mapping[str, str]


class Site:
    """Two replicas at ports of their own, and a caller, each with certificates."""

    def __init__(self) -> None:
        self.ports = [free_port(), free_port()]
        self._replicas: list[AsyncExitStack] = []

    async def restart(self, certificates: list[Settings]) -> None:
        """Restart one replica after the other."""
        for number, own in enumerate(certificates):
            if number < len(self._replicas):
                await self._replicas[number].aclose()
            else:
                self._replicas.append(AsyncExitStack())
            settings = ServiceSettings(
                listen=f"127.0.0.1:{self.ports[number]}",
                drain_wait=0,
                **own,  # type: ignore[arg-type] # pydantic reads the texts
            )
            greeter = Greeter()  # type: ignore[abstract] # it does not offer every method
            await self._replicas[number].enter_async_context(greeting(greeter, settings))

    async def close(self) -> None:
        for each in self._replicas:
            await each.aclose()

    @asynccontextmanager
    async def called(self, own: Settings) -> AsyncIterator[list[int]]:
        """Call again and again with certificates, until the block ends; count the calls."""
        tls = TlsSettings(**own).tls  # type: ignore[arg-type] # as above
        addresses = ",".join(f"127.0.0.1:{port}" for port in self.ports)
        calls: list[int] = []
        ends = asyncio.Event()
        async with channel(addresses, CONTRACT, tls=tls) as to:
            await to.channel_ready()
            stub = pb_grpc.OrchestratorServiceStub(to)

            async def call() -> None:
                while not ends.is_set():
                    await stub.ListStrategies(pb.ListStrategiesRequest(), **new_call_options(20))
                    calls.append(1)

            task = asyncio.create_task(call())
            try:
                yield calls
            finally:
                ends.set()
                await task  # raises what a call raised


async def test_an_authority_is_replaced_in_three_steps_and_no_call_fails(tmp_path: Path) -> None:
    former, new = Authority(tmp_path), Authority(tmp_path, "new")
    both = tmp_path / "both.pem"
    both.write_bytes(former.file.read_bytes() + new.file.read_bytes())
    trusting = {"HEDDLE_TLS_CA": str(both)}
    steps = [
        (former.issue(), former.issue() | trusting),
        (former.issue() | trusting, new.issue() | trusting),
        (new.issue() | trusting, new.issue()),
    ]
    site = Site()
    try:
        await site.restart([former.issue(), former.issue()])
        for caller, certificates in steps:
            # A caller that has not restarted yet, and one that has: both calls go on.
            async with site.called(caller) as before, site.called(certificates) as after:
                await site.restart([certificates, certificates])
                counts = len(before), len(after)
                while len(before) < counts[0] + 5 or len(after) < counts[1] + 5:
                    await asyncio.sleep(0.01)
    finally:
        await site.close()
