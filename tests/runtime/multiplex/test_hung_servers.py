"""Servers that hang: stopped processes, and event loops that a handler blocks."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.orchestrator.v1 import orchestrator_pb2_grpc as pb_grpc
from heddle_runtime.errors import UnavailableError, from_rpc
from heddle_runtime.rpc.client import channel
from heddle_runtime.rpc.multiplex.channel import MAX_REQUEST_BYTES
from runtime.greeting import CONTRACT, ask

TESTS = Path(__file__).parents[2]
NOTICED_WITHIN = 5.0
LARGE = "x" * (MAX_REQUEST_BYTES + 1)
"""The page token of a request that no stream carries."""


@dataclass
class Server:
    """A server in another process."""

    process: asyncio.subprocess.Process
    address: str


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with running() as started:
        yield started


@asynccontextmanager
async def running() -> AsyncIterator[Server]:
    """Run a server in another process."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "runtime.blocking_greeter"),
        cwd=TESTS,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    async for line in process.stdout:
        if line.startswith(b"address "):
            break
    else:
        raise AssertionError("the server did not start")
    try:
        yield Server(process, line.decode().split()[1])
    finally:
        process.kill()
        await process.communicate()


async def unavailable(call: asyncio.Future[object]) -> float:
    """Return the seconds until a call fails because the server hangs."""
    started = time.monotonic()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    assert isinstance(from_rpc(caught.value), UnavailableError), caught.value
    return time.monotonic() - started


def strategies(
    stub: "pb_grpc.OrchestratorServiceAsyncStub", token: str = ""
) -> "asyncio.Future[object]":
    return asyncio.ensure_future(_strategies(stub, token))


async def _strategies(stub: "pb_grpc.OrchestratorServiceAsyncStub", token: str) -> object:
    return await stub.ListStrategies(pb.ListStrategiesRequest(page_token=token), timeout=30)


@pytest.mark.parametrize("idle", [0, pytest.param(60, marks=pytest.mark.exhaustive)])
async def test_a_stopped_process_is_noticed(server: Server, idle: float) -> None:
    async with channel(server.address, CONTRACT) as to:
        await to.channel_ready()
        stub = pb_grpc.OrchestratorServiceStub(to)
        await strategies(stub)
        await asyncio.sleep(idle)
        server.process.send_signal(signal.SIGSTOP)
        assert await unavailable(strategies(stub)) < NOTICED_WITHIN
        assert await unavailable(strategies(stub)) < 0.5
        server.process.send_signal(signal.SIGCONT)
        await _answered_within(stub, 3)


@pytest.mark.exhaustive
async def test_a_blocked_event_loop_is_noticed_by_all_open_calls(server: Server) -> None:
    async with channel(server.address, CONTRACT) as to:
        await to.channel_ready()
        stub = pb_grpc.OrchestratorServiceStub(to)
        stream = stub.RunCompletion(ask("hang"), timeout=30)
        await anext(aiter(stream))
        blocking = strategies(stub, "7")
        assert await unavailable(asyncio.ensure_future(_all_of(stream))) < NOTICED_WITHIN
        assert await unavailable(blocking) < 1
        assert await unavailable(strategies(stub)) < 1
        refused = stub.RunCompletion(ask("hang"), timeout=30)
        assert await unavailable(asyncio.ensure_future(_all_of(refused))) < 1
        assert not refused.cancel()
        await _answered_within(stub, 7)


@pytest.mark.exhaustive
async def test_a_slow_call_is_not_taken_for_a_hung_server(server: Server) -> None:
    async with channel(server.address, CONTRACT) as to:
        await to.channel_ready()
        stub = pb_grpc.OrchestratorServiceStub(to)
        stream = stub.RunCompletion(ask("hang"), timeout=6)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await _all_of(stream)

    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED


@pytest.mark.exhaustive
async def test_a_server_that_loads_a_library_is_not_taken_for_a_hung_one(server: Server) -> None:
    async with channel(server.address, CONTRACT) as to:
        await to.channel_ready()
        stub = pb_grpc.OrchestratorServiceStub(to)
        loading = strategies(stub, "load 5")
        await strategies(stub, "begin")
        await loading
        assert await unavailable(strategies(stub, "7")) < NOTICED_WITHIN


@pytest.mark.exhaustive
async def test_a_client_that_connects_during_the_load_waits_for_its_end(server: Server) -> None:
    async with channel(server.address, CONTRACT) as first, channel(server.address, CONTRACT) as to:
        await first.channel_ready()
        loading = strategies(pb_grpc.OrchestratorServiceStub(first), "load 5")
        await strategies(pb_grpc.OrchestratorServiceStub(first))  # the server announces the load
        await to.channel_ready()
        stub = pb_grpc.OrchestratorServiceStub(to)
        await strategies(stub, "begin")
        assert await strategies(stub)
        await loading


@pytest.mark.parametrize("token", [LARGE, pytest.param("", marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize(
    "fault", ["blocked", pytest.param("stopped", marks=pytest.mark.exhaustive)]
)
async def test_a_replica_that_hangs_gets_no_calls_until_it_responds_again(
    fault: str, token: str
) -> None:
    async with (
        running() as hanging,
        running() as other,
        channel(f"ipv4:{hanging.address},{other.address}", CONTRACT) as to,
        channel(hanging.address, CONTRACT) as directly,
    ):
        await asyncio.gather(to.channel_ready(), directly.channel_ready())
        stub = pb_grpc.OrchestratorServiceStub(to)
        both = {hanging.process.pid, other.process.pid}
        assert {await _process(stub, token) for _ in range(4)} == both
        begin = time.monotonic()
        waiting = [asyncio.ensure_future(_process(stub, token)) for _ in range(2)]
        if fault == "stopped":
            hanging.process.send_signal(signal.SIGSTOP)
        else:
            blocking = strategies(pb_grpc.OrchestratorServiceStub(directly), "8")
            waiting.append(blocking)  # type: ignore[arg-type] # which also ends
        await asyncio.sleep(0.1)
        waiting += [asyncio.ensure_future(_process(stub, token)) for _ in range(4)]
        ends = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 5)
        failures = [end for end in ends if isinstance(end, BaseException)]
        assert {grpc.StatusCode.UNAVAILABLE} >= {_code(each) for each in failures}
        while time.monotonic() < begin + 7:
            assert await asyncio.wait_for(_process(stub, token), 1) == other.process.pid
            await asyncio.sleep(0.05)
        hanging.process.send_signal(signal.SIGCONT)
        async with asyncio.timeout(1 + 3):
            while await _process(stub, token) != hanging.process.pid:
                await asyncio.sleep(0.05)


@pytest.mark.exhaustive
async def test_a_large_call_and_its_stream_end_when_their_server_hangs(server: Server) -> None:
    async with channel(server.address, CONTRACT) as to:
        await to.channel_ready()
        stub = pb_grpc.OrchestratorServiceStub(to)
        request = ask("hang")
        request.messages.add(role=request.messages[0].role).parts.add(text=LARGE)
        stream = stub.RunCompletion(request, timeout=30)
        await anext(aiter(stream))
        large = strategies(stub, LARGE)
        await large
        blocking = strategies(stub, "7")
        await asyncio.sleep(0.1)
        large = strategies(stub, LARGE)
        assert await unavailable(asyncio.ensure_future(_all_of(stream))) < NOTICED_WITHIN
        assert await unavailable(large) < 1
        assert await unavailable(blocking) < 1


@pytest.mark.exhaustive
async def test_a_new_channel_waits_for_no_replica_that_hangs() -> None:
    async with running() as hanging, running() as other, channel(hanging.address) as directly:
        await directly.channel_ready()
        blocking = strategies(pb_grpc.OrchestratorServiceStub(directly), "6")
        await asyncio.sleep(0.2)
        addresses = f"ipv4:{hanging.address},{other.address}"
        for _ in range(4):
            async with channel(addresses, CONTRACT) as to:
                stub = pb_grpc.OrchestratorServiceStub(to)
                assert await asyncio.wait_for(_process(stub), 2) == other.process.pid
        await asyncio.gather(blocking, return_exceptions=True)


async def _process(stub: "pb_grpc.OrchestratorServiceAsyncStub", token: str = "") -> int:
    """Return the number of the process that answers."""
    response = await stub.ListStrategies(pb.ListStrategiesRequest(page_token=token), timeout=30)
    return int(response.strategies[-1].name)


def _code(error: BaseException) -> grpc.StatusCode:
    assert isinstance(error, grpc.aio.AioRpcError), error
    return error.code()


async def _all_of(stream: object) -> list[object]:
    return [each async for each in stream]  # type: ignore[attr-defined] # a call of either kind


async def _answered_within(stub: "pb_grpc.OrchestratorServiceAsyncStub", seconds: float) -> None:
    async with asyncio.timeout(seconds):
        while True:
            try:
                await strategies(stub)
            except grpc.aio.AioRpcError:
                await asyncio.sleep(0.05)
            else:
                return
