"""The account service before which a test's gateways are: its calls are counted, and can fail.

Before two replicas, the gateways are processes. Each has a server of its own here, with the
scripted services of the test and a relay to the account service of the installation.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, fields
from typing import Any

import grpc
from gateway.neighbours import Neighbours
from heddle.account.v1 import account_pb2 as pb
from heddle.account.v1 import account_pb2_grpc as pb_grpc
from heddle_gateway.auth.issued_keys import CACHE_SECONDS
from heddle_gateway.services import SERVICES, ServiceClients
from heddle_runtime.errors import HeddleError, from_rpc, to_rpc
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_runtime.rpc.client import channel
from heddle_runtime.serving.server import Binding, bind, running
from heddle_runtime.settings.service import ServiceSettings

_CONTRACT = pb.DESCRIPTOR.services_by_name["AccountService"]
_CACHED = {"ResolveUser", "ResolveSettings"}
"""Calls whose responses a gateway caches under names that the next test uses, too."""
_SCRIPTED = ("orchestrator", "tools", "connector", "assistants")


@dataclass
class Counted:
    """The stub of the account service, which counts its calls."""

    stub: Any
    calls_of_each: dict[int, list[tuple[str, Any]]] = field(default_factory=dict)
    """The calls of each gateway that has called."""
    failure: HeddleError | None = None

    def __getattr__(self, name: str) -> Any:
        async def call(request: Any, **more: Any) -> Any:
            return await self.called(0, name, request, **more)

        return call

    async def called(self, gateway: int, name: str, request: Any, **more: Any) -> Any:
        """Count a call of a gateway, and make it or fail."""
        self.calls_of_each.setdefault(gateway, []).append((name, request))
        if self.failure is not None:
            raise to_rpc(self.failure)
        return await getattr(self.stub, name)(request, **more)

    @property
    def calls(self) -> list[tuple[str, Any]]:
        """The calls of all gateways."""
        return [each for calls in self.calls_of_each.values() for each in calls]

    @property
    def resolved_keys(self) -> list[list[str]]:
        """The keys that each gateway has resolved."""
        resolved = [
            [request.key for name, request in calls if name == "ResolveKey"]
            for calls in self.calls_of_each.values()
        ]
        return [keys for keys in resolved if keys]


@dataclass
class Stage:
    """The services behind both gateways of a test."""

    neighbours: Neighbours
    accounts: Counted
    addresses: tuple[str, str]
    """Where each gateway finds them."""
    services: ServiceClients
    _cached_until: dict[tuple[str, str], float] = field(default_factory=dict)

    def settings(self) -> list[dict[str, str]]:
        """Return the addresses of the services for each gateway."""
        return [
            {f"HEDDLE_{name.upper()}_ADDRESS": address for name in _SCRIPTED}
            for address in self.addresses
        ]

    def reset(self) -> None:
        """Forget everything about the test before."""
        for each in fields(self.neighbours):
            servicer = getattr(self.neighbours, each.name)
            vars(servicer).clear()
            type(servicer).__init__(servicer)
        self.accounts.calls_of_each.clear()
        self.accounts.failure = None

    async def caches_end(self, urls: tuple[str, str]) -> None:
        """Wait until gateways have forgotten users and settings of the test before."""
        await asyncio.sleep(max(0.0, self._cached_until.get(urls, 0.0) - time.monotonic()))

    def note_caches(self, urls: tuple[str, str]) -> None:
        """Note what gateways may have cached in the test that ends."""
        if any(name in _CACHED for name, _ in self.accounts.calls):
            self._cached_until[urls] = time.monotonic() + CACHE_SECONDS


def _relay(gateway: int, counted: Counted) -> Binding:
    """Return an account service that passes the calls of one gateway on."""
    servicer = pb_grpc.AccountServiceServicer()  # type: ignore[abstract] # each method is set

    def passing_on(name: str) -> Any:
        async def call(request: Any, _: Any) -> Any:
            try:
                return await counted.called(gateway, name, request, **new_call_options(10))
            except grpc.aio.AioRpcError as error:
                raise from_rpc(error) from error

        return call

    for method in _CONTRACT.methods:
        setattr(servicer, method.name, passing_on(method.name))
    return bind(pb_grpc.add_AccountServiceServicer_to_server, servicer)


@asynccontextmanager
async def stage(addresses: Mapping[str, str], secret: str) -> AsyncGenerator[Stage]:
    """Serve the services of tests, before the account service at one of `addresses`."""
    settings = ServiceSettings.model_validate(
        {"HEDDLE_IDENTITY_SECRET": secret, "drain_wait": 0.0, "shutdown_grace": 0.2}
    )
    neighbours = Neighbours()

    @asynccontextmanager
    async def bindings(own: Binding) -> AsyncGenerator[Sequence[Binding]]:
        yield [*neighbours.bindings(), own]

    async with AsyncExitStack() as exits:
        wire = await exits.enter_async_context(
            channel(addresses["assistants"], _CONTRACT, secret=settings.identity_secret)
        )
        counted = Counted(pb_grpc.AccountServiceStub(wire))
        first, second = [
            await exits.enter_async_context(running(bindings(_relay(each, counted)), settings))
            for each in range(2)
        ]
        services = ServiceClients(**dict.fromkeys(SERVICES, first.local))
        yield Stage(neighbours, counted, (first.address, second.address), services)
