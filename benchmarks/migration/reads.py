"""One assistant through the service, beside one row through a driver.

Each way is asked in turn, in every round in another order; ratios are taken within a round.
"""

import asyncio
import itertools
import os
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from random import SystemRandom
from statistics import median
from typing import TYPE_CHECKING, cast

import msgspec
import uvloop
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle.assistant.v1.assistant_pb2_grpc import AssistantServiceStub
from heddle_assistants.app import AssistantsSettings, app
from heddle_assistants.other_services import OtherServices
from heddle_runtime.identity.call_metadata import AUTHORIZATION, REQUEST_ID, new_request_id
from heddle_runtime.identity.callers import Identity, TokenSigner
from heddle_runtime.rpc.client import channel
from heddle_runtime.rpc.in_process import InProcessChannel

from benchmarks.gateway import accounting
from benchmarks.migration.bare import CONCURRENCY, Read, bare
from benchmarks.migration.databases import fill, fresh
from benchmarks.migration.empty_call import EMPTY, empty_call
from benchmarks.migration.rows import rows
from benchmarks.migration.service import SECRET, Service, environment, serving

GET = "GetAssistant"
GET_LOCAL = "GetAssistant in one process"
_ADMIN = Identity("benchmark", scopes=("admin",))
_WARM_UP = 1.0
_DEADLINE = 20.0


if TYPE_CHECKING:
    import grpc.aio
    from heddle.assistant.v1.assistant_pb2_grpc import AssistantServiceAsyncStub


class Measurement(msgspec.Struct, frozen=True):
    """One way under one load in one round."""

    database: str
    way: str
    clients: int
    round: int
    latency: float
    """Microseconds, the median."""
    cpu: float
    """CPU microseconds for each read, of the client and the service; PostgreSQL's not counted."""
    rate: float
    """Reads in a second."""


def measure(
    name: str, folder: Path, *, assistants: int, rounds: int, seconds: float
) -> list[Measurement]:
    """Measure all ways of reading one of `assistants` migrated assistants."""
    with fresh(name, folder) as url:
        fill(url, rows(assistants + assistants // 10 + 10))  # since some cannot be migrated
        with serving(url, folder, validating=False) as service:
            ways = {
                GET: _getting(service),
                GET_LOCAL: _getting_locally(environment(url, folder)),
                EMPTY: empty_call(folder),
                **bare(url),
            }
            return uvloop.run(_measure(name, ways, service, assistants, rounds, seconds))


async def _measure(
    name: str,
    opening: Mapping[str, AbstractAsyncContextManager[Read]],
    service: Service,
    assistants: int,
    rounds: int,
    seconds: float,
) -> list[Measurement]:
    order = SystemRandom()
    measurements = []
    async with AsyncExitStack() as stack:
        ways = {way: await stack.enter_async_context(opening[way]) for way in opening}
        ids = await _migrated(ways[GET], assistants)
        for way, clients in itertools.product(ways, CONCURRENCY):
            await _load(ways[way], clients, _WARM_UP, ids)
        for number in range(1, rounds + 1):
            for clients in CONCURRENCY:
                for way in order.sample(list(ways), len(ways)):
                    before = _used(service)
                    taken = await _load(ways[way], clients, seconds, ids)
                    measurements.append(
                        Measurement(
                            database=name,
                            way=way,
                            clients=clients,
                            round=number,
                            latency=median(taken) * 1e6,
                            cpu=(_used(service) - before) / len(taken) * 1e6,
                            rate=len(taken) / seconds,
                        )
                    )
    return measurements


@asynccontextmanager
async def _getting(service: Service) -> AsyncGenerator[Read]:
    contract = pb.DESCRIPTOR.services_by_name["AssistantService"]
    async with channel(service.address, contract) as opened:
        yield _get(AssistantServiceStub(opened))


@asynccontextmanager
async def _getting_locally(settings: Mapping[str, str]) -> AsyncGenerator[Read]:
    os.environ.update(settings)
    local = InProcessChannel()
    async with app(AssistantsSettings(), OtherServices()) as bindings:
        for binding in bindings:
            binding.register(local)
        yield _get(AssistantServiceStub(cast("grpc.aio.Channel", local)))


_SERVICE = pb.DESCRIPTOR.services_by_name["AssistantService"].full_name


def _get(stub: "AssistantServiceAsyncStub") -> Read:
    signer = TokenSigner(SECRET)

    async def get(identifier: int) -> object:
        return await stub.GetAssistant(
            pb.GetAssistantRequest(reference=str(identifier)),
            timeout=_DEADLINE,
            metadata=(
                (REQUEST_ID, new_request_id()),
                (AUTHORIZATION, f"Bearer {signer.token(_ADMIN, _SERVICE)}"),
            ),
        )

    return get


async def _migrated(get: Read, count: int) -> Sequence[int]:
    """Use assistants for the first time, which migrates them; return those that can be used."""
    ids: list[int] = []
    for identifier in itertools.count(1):
        if len(ids) == count:
            return ids
        try:
            await get(identifier)
        except Exception as error:
            if "FAILED_PRECONDITION" not in str(error):
                raise
        else:
            ids.append(identifier)
    raise AssertionError


async def _load(read: Read, clients: int, seconds: float, ids: Sequence[int]) -> list[float]:
    taken: list[float] = []
    until = time.perf_counter() + seconds

    async def client(number: int) -> None:
        for identifier in itertools.islice(itertools.cycle(ids), number * 7, None):
            began = time.perf_counter()
            await read(identifier)
            ended = time.perf_counter()
            taken.append(ended - began)
            if ended > until:
                return

    await asyncio.gather(*map(client, range(clients)))
    return taken


def _used(service: Service) -> float:
    return time.process_time() + accounting.cpu_seconds(service.pids)
