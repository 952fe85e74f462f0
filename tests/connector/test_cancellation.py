"""Who goes away stops the provider."""

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest
from heddle.connector.v1 import connector_pb2 as pb
from heddle.connector.v1.connector_pb2_grpc import ConnectorServiceStub
from heddle_connector.app import ConnectorSettings, app
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_runtime.rpc.client import streaming
from heddle_runtime.serving.server import running

from connector.provider import Exchange, provider, text
from connector.service import Stub, asked, channel_to, openai_at

if TYPE_CHECKING:
    import grpc

BOUND = 0.25


@pytest.mark.alone
@pytest.mark.parametrize("moment", ["before the answer", "in mid-answer", "in a whole answer"])
async def test_fifty_cancelled_calls_close_fifty_connections(
    moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[float] = []
    reached = asyncio.Semaphore(0)

    async def script(exchange: Exchange) -> None:
        if moment == "in mid-answer":
            exchange.begin()
            await exchange.send(text("Hi"))
        else:
            reached.release()
        closed.append(await exchange.gone())

    async with openai_at(script, monkeypatch) as (stub, made):
        late = 0.0
        for number in range(50):
            waiting = asyncio.ensure_future(begin(stub, moment == "in a whole answer"))
            call = await waiting if moment == "in mid-answer" else None
            if call is None:
                await reached.acquire()
            cancelled = time.monotonic()
            (call or waiting).cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            while len(closed) <= number and time.monotonic() - cancelled < 2:
                await asyncio.sleep(0.002)
            assert len(closed) == number + 1, "a cancellation was lost"
            late = max(late, closed[-1] - cancelled)
    assert made.connections == 50
    assert late < BOUND


async def begin(stub: Stub, whole: bool) -> "grpc.aio.UnaryStreamCall[Any, Any]":
    """Ask, and return when the first event is here."""
    if whole:
        await stub.GenerateWholeMessage(
            pb.GenerateWholeMessageRequest(generation=asked()), **new_call_options(30)
        )
    call = stub.GenerateMessage(asked(), **new_call_options(30))
    await anext(aiter(call))
    return call


@pytest.mark.alone
async def test_cancelling_many_calls_at_once_loses_none(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[float] = []

    async def script(exchange: Exchange) -> None:
        exchange.begin()
        await exchange.send(text("Hi"))
        closed.append(await exchange.gone())

    async with openai_at(script, monkeypatch) as (stub, _):
        calls = [stub.GenerateMessage(asked(), **new_call_options(30)) for _ in range(50)]
        await asyncio.gather(*(anext(aiter(call)) for call in calls))
        cancelled = time.monotonic()
        for call in calls:
            call.cancel()
        while len(closed) < 50 and time.monotonic() - cancelled < 3:
            await asyncio.sleep(0.005)
    assert len(closed) == 50
    assert max(closed) - cancelled < 1  # fifty at once on a busy machine


@pytest.mark.alone
async def test_a_caller_in_the_same_process_stops_the_provider_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed = asyncio.Event()

    async def script(exchange: Exchange) -> None:
        exchange.begin()
        await exchange.send(text("Hi"))
        await exchange.gone()
        closed.set()

    async with provider(script) as remote:
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", remote.url)
        settings = ConnectorSettings(listen="127.0.0.1:0", drain_wait=0)
        async with running(app(settings, channel_to()), settings) as up:
            stub: Stub = ConnectorServiceStub(up.local)
            async with streaming(stub.GenerateMessage(asked(), **new_call_options(30))) as call:
                await anext(aiter(call))
            assert await asyncio.wait_for(closed.wait(), BOUND)
