"""Certificates and their authority are replaced while two replicas serve: no call fails."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.orchestrator.v1 import orchestrator_pb2_grpc as pb_grpc
from heddle_runtime.identity.call_metadata import CALLER, Caller, Context, caller, new_call_options
from heddle_runtime.rpc.client import channel
from heddle_runtime.settings.mutual_tls import TlsSettings
from heddle_runtime.settings.service import ServiceSettings
from runtime.certificates import Authority
from runtime.greeting import CONTRACT, Greeter, greeting
from runtime.ports import free_port

Settings = Mapping[str, str]


class Noting(Greeter):
    """Notes the callers that have reached it."""

    def __init__(self) -> None:
        super().__init__()
        self.callers: set[str] = set()

    async def ListStrategies(
        self, request: pb.ListStrategiesRequest, context: Context
    ) -> pb.ListStrategiesResponse:
        self.callers.add(caller().request_id)
        return await super().ListStrategies(request, context)


class Site:
    """Two replicas at ports of their own, and a caller, each with certificates."""

    def __init__(self) -> None:
        self.ports = [free_port(), free_port()]
        self._replicas: list[AsyncExitStack] = []
        self._callers: dict[str, asyncio.Task[None]] = {}

    async def restart(self, certificates: list[Settings]) -> None:
        """Restart one replica after the other, when the callers have reached the former."""
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
            greeter = Noting()  # type: ignore[abstract] # it does not offer every method
            await self._replicas[number].enter_async_context(greeting(greeter, settings))
            while not self._callers.keys() <= greeter.callers:
                self.check()
                await asyncio.sleep(0.01)

    async def close(self) -> None:
        for each in self._replicas:
            await each.aclose()

    @asynccontextmanager
    async def called(self, name: str, own: Settings) -> AsyncIterator[list[int]]:
        """Call again and again with certificates, until the block ends; count the calls."""
        tls = TlsSettings(**own).tls  # type: ignore[arg-type] # as above
        addresses = ",".join(f"127.0.0.1:{port}" for port in self.ports)
        calls: list[int] = []
        ends = asyncio.Event()
        async with channel(addresses, CONTRACT, tls=tls) as to:
            await to.channel_ready()
            stub = pb_grpc.OrchestratorServiceStub(to)

            async def call() -> None:
                CALLER.set(Caller(name))
                while not ends.is_set():
                    await stub.ListStrategies(pb.ListStrategiesRequest(), **new_call_options(20))
                    calls.append(1)
                    await asyncio.sleep(0.005)

            self._callers[name] = asyncio.create_task(call())
            try:
                yield calls
            finally:
                ends.set()
                await self._callers.pop(name)  # raises what a call raised

    def check(self) -> None:
        """Raise what a call raised."""
        for task in self._callers.values():
            if task.done():
                task.result()


@pytest.mark.exhaustive
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
        for former_caller, certificates in steps:
            # A caller that has not restarted yet, and one that has: both calls go on.
            async with (
                site.called("before", former_caller) as before,
                site.called("after", certificates) as after,
            ):
                await site.restart([certificates, certificates])
                counts = len(before), len(after)
                while len(before) < counts[0] + 5 or len(after) < counts[1] + 5:
                    site.check()
                    await asyncio.sleep(0.01)
    finally:
        await site.close()
