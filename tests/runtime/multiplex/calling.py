"""What the tests of pipes call, and with which patience."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import grpc
import pytest
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.orchestrator.v1 import orchestrator_pb2_grpc as pb_grpc
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_runtime.rpc.client import channel, streaming
from heddle_runtime.settings.service import ServiceSettings
from patience import until
from runtime.greeting import CONTRACT, Greeter, ask, ask_whole, greeting

SOON = 5.0
"""Seconds for what takes none: a busy machine's, and far from the minute of what hangs."""
AT_ONCE = ServiceSettings(drain_wait=0, shutdown_grace=0)
PATIENT = ServiceSettings(drain_wait=0, shutdown_grace=10)
Channel = grpc.aio.Channel


def greeter() -> Greeter:
    return Greeter()  # type: ignore[abstract] # it does not offer every method


def stream(
    to: Channel, reference: str, timeout: float = 30
) -> grpc.aio.UnaryStreamCall[pb.RunCompletionRequest, pb.RunCompletionResponse]:
    return pb_grpc.OrchestratorServiceStub(to).RunCompletion(
        ask(reference), **new_call_options(timeout)
    )


async def texts(to: Channel, reference: str, timeout: float = 30) -> list[str]:
    return [r.events[0].text_delta async for r in stream(to, reference, timeout)]


async def whole(to: Channel, reference: str, timeout: float = 30) -> str:
    stub = pb_grpc.OrchestratorServiceStub(to)
    response = await stub.RunWholeCompletion(ask_whole(reference), **new_call_options(timeout))
    return response.events[0].text_delta


async def drained(reader: AsyncIterator[object]) -> None:
    async for _ in reader:
        pass


async def listed(to: Channel, token: str = "", timeout: float = 30) -> str:
    request = pb.ListStrategiesRequest(page_token=token)
    stub = pb_grpc.OrchestratorServiceStub(to)
    return (await stub.ListStrategies(request, **new_call_options(timeout))).strategies[0].name


async def code(call: Awaitable[object]) -> grpc.StatusCode:
    """Return the code that `call` fails with."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value.code()


@asynccontextmanager
async def two_servers(
    settings: ServiceSettings,
) -> AsyncIterator[tuple[Channel, Callable[[], Awaitable[None]], Greeter, Greeter]]:
    """Yield a channel to two servers, which take turns; what stops the first one, and both."""
    both = greeter(), greeter()
    async with AsyncExitStack() as one, AsyncExitStack() as another:
        stacks = one, another
        servers = [
            await stack.enter_async_context(greeting(greets, settings))
            for stack, greets in zip(stacks, both, strict=True)
        ]
        async with channel("ipv4:" + ",".join(s.address for s in servers), CONTRACT) as to:
            await to.channel_ready()
            yield to, one.aclose, *both


def tasks() -> Counter[str]:
    """Return what runs."""
    return Counter(str(task.get_coro()).split(" at ")[0] for task in asyncio.all_tasks())


async def started(to: Channel, reference: str, count: int = 1) -> list[asyncio.Task[list[str]]]:
    """Begin to read streams; return when each has sent something."""
    seen = 0

    async def read() -> list[str]:
        nonlocal seen
        found: list[str] = []
        async with streaming(stream(to, reference)) as responses:
            async for response in responses:
                seen += not found
                found.append(response.events[0].text_delta)
        return found

    tasks = [asyncio.create_task(read()) for _ in range(count)]
    await until(lambda: seen == count)
    return tasks
