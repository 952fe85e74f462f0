"""Servers whose pipes a test looks into, and a client that says what ours never says.

Run as `python -m runtime.multiplex.serving`, it is a server that can be killed.
"""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
from google.protobuf.message import Message
from heddle.multiplex.v1 import multiplex_pb2, multiplex_pb2_grpc
from heddle.orchestrator.v1 import orchestrator_pb2_grpc as pb_grpc
from heddle_runtime.identity.callers import TokenVerifier
from heddle_runtime.rpc.admission import AdmissionControl
from heddle_runtime.rpc.client import channel
from heddle_runtime.rpc.multiplex.channel import MultiplexedChannel
from heddle_runtime.rpc.multiplex.server import (
    MultiplexServicer,
    add_multiplexing,
)
from heddle_runtime.serving.server import OPTIONS
from heddle_runtime.settings.local_secret import OF_THIS_PROCESS
from heddle_runtime.settings.service import ServiceSettings
from heddle_runtime.telemetry import logs
from pydantic import SecretStr
from runtime.greeting import CONTRACT, Greeter, greeting

if TYPE_CHECKING:  # grpcio's own classes are not generic at run time
    Carrying = grpc.aio.StreamStreamCall[multiplex_pb2.CarryRequest, multiplex_pb2.CarryResponse]

CARRY = "/heddle.multiplex.v1.MultiplexService/Carry"
LIST = "/heddle.orchestrator.v1.OrchestratorService/ListStrategies"
STREAM = "/heddle.orchestrator.v1.OrchestratorService/RunCompletion"
WHOLE = "/heddle.orchestrator.v1.OrchestratorService/RunWholeCompletion"


class Arrivals(grpc.aio.ServerInterceptor):
    """Notes the calls of gRPC: a pipe is one, whatever goes through it."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        self.paths.append(handler_call_details.method)
        return await continuation(handler_call_details)


@dataclass(frozen=True)
class Serving:
    """A server, seen from inside."""

    address: str
    paths: list[str]
    """The calls of gRPC, pipes among them, in the order they came in."""
    _servicer: MultiplexServicer

    @property
    def calls(self) -> list[int]:
        """How many calls are in each pipe that is open."""
        return [len(stream.calls) for stream in self._servicer._streams]  # noqa: SLF001 - nothing else tells

    def drain(self) -> None:
        """Ask the clients to go elsewhere."""
        self._servicer.drain()


@asynccontextmanager
async def serving(
    greeter: Greeter,
    *,
    max_calls: int = 2000,
    secret: str = "",
) -> AsyncGenerator[Serving]:
    """Serve `greeter` like `heddle_runtime.serving.server`, which shows less of itself."""
    arrivals = Arrivals()
    server = grpc.aio.server(interceptors=(arrivals,), options=OPTIONS)
    verifier = TokenVerifier(secret or OF_THIS_PROCESS.get_secret_value())
    admission = AdmissionControl(verifier, max_calls, lambda: not secret)
    servicer = MultiplexServicer(admission)
    pb_grpc.add_OrchestratorServiceServicer_to_server(greeter, servicer.methods)  # type: ignore[arg-type] # stands where it wants a server
    servicer.methods.serve(server, admission)
    add_multiplexing(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield Serving(f"127.0.0.1:{port}", arrivals.paths, servicer)
    finally:
        await server.stop(0)


@asynccontextmanager
async def multiplexed(server: Serving, secret: str = "") -> AsyncGenerator[grpc.aio.Channel]:
    """Yield a channel to `server` that has a pipe."""
    signing = SecretStr(secret) if secret else None
    async with channel(server.address, CONTRACT, secret=signing) as connection:
        await connection.channel_ready()
        yield connection


def stream_loads(connection: grpc.aio.Channel) -> list[int]:
    """Return how many calls the client believes to be in each pipe that takes new ones."""
    assert isinstance(connection, MultiplexedChannel)
    replicas = connection._replicas  # noqa: SLF001 - nothing else tells
    return [len(pipe.calls) for replica in replicas for pipe in replica.streams]


@dataclass
class Hand:
    """Writes frames by hand, and keeps what is answered."""

    stream: "Carrying"
    responses: list[multiplex_pb2.CarryResponse] = field(default_factory=list)
    answers: dict[int, list[multiplex_pb2.AnswerFrame]] = field(
        default_factory=lambda: defaultdict(list)
    )

    async def say(self, *frames: multiplex_pb2.CallFrame) -> None:
        """Write `frames` together."""
        await self.stream.write(multiplex_pb2.CarryRequest(frames=frames))

    async def end_of(self, call: int) -> multiplex_pb2.AnswerFrame:
        """Read until `call` is over, and return its last frame."""
        async with asyncio.timeout(20):
            while not (self.answers[call] and self.answers[call][-1].end):
                response = await self.stream.read()
                assert isinstance(response, multiplex_pb2.CarryResponse)
                self.responses.append(response)
                for frame in response.frames:
                    self.answers[frame.call].append(frame)
        return self.answers[call][-1]


@asynccontextmanager
async def by_hand(server: Serving, metadata: Sequence[tuple[str, str]] = ()) -> AsyncIterator[Hand]:
    """Open a stream to `server`."""
    async with grpc.aio.insecure_channel(server.address, options=OPTIONS) as connection:
        stream = multiplex_pb2_grpc.MultiplexServiceStub(connection).Carry(metadata=metadata)
        assert await stream.read() == multiplex_pb2.CarryResponse()
        yield Hand(stream)
        stream.cancel()


def opening(
    call: int,
    method: str,
    request: Message | bytes,
    *,
    timeout_ms: int = 10_000,
    credit: int = 256 * 1024,
) -> multiplex_pb2.CallFrame:
    """Return the frame that starts a call."""
    encoded = request if isinstance(request, bytes) else request.SerializeToString()
    start = multiplex_pb2.Open(method=method, request=encoded, timeout_ms=timeout_ms, credit=credit)
    return multiplex_pb2.CallFrame(call=call, open=start)


@asynccontextmanager
async def process() -> AsyncGenerator[tuple[Process, grpc.aio.Channel]]:
    """Run a server as a process of its own; yield it with a channel that has a pipe to it."""
    server = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "runtime.multiplex.serving",
        cwd=Path(__file__).parents[2],
        stdout=PIPE,
    )
    try:
        assert server.stdout
        address = (await server.stdout.readline()).decode().strip()
        async with channel(address, CONTRACT) as connection:
            await connection.channel_ready()
            yield server, connection
    finally:
        if server.returncode is None:
            server.kill()
        await server.wait()


async def main() -> None:
    """Serve until killed."""
    logs.configure("greeter", "ERROR")
    greeter = Greeter()  # type: ignore[abstract] # it does not offer every method
    async with greeting(greeter, ServiceSettings()) as server:
        sys.stdout.write(f"{server.address}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
