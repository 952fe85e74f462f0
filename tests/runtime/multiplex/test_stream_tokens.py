"""Streams are opened with a token, and each of their calls has one of its own."""

import grpc
import pytest
from heddle.multiplex.v1 import multiplex_pb2 as pb
from heddle.multiplex.v1 import multiplex_pb2_grpc as pb_grpc
from heddle.orchestrator.v1 import orchestrator_pb2, orchestrator_pb2_grpc
from heddle_runtime.identity.call_metadata import AUTHORIZATION
from heddle_runtime.identity.callers import Identity, TokenSigner
from runtime.multiplex.calling import greeter
from runtime.multiplex.serving import CARRY, multiplexed, serving

SECRET = "a-secret-of-at-least-32-characters"
ANN = Identity("ann@uni.example", "uni")
STREAMS = "heddle.multiplex.v1.MultiplexService"
REFUSED = {
    "no token": "",
    "no JWT": "x" * 40,
    "another secret": TokenSigner("b" * 40).token(ANN, STREAMS),
    "another audience": TokenSigner(SECRET).token(ANN, "heddle.tool.v1.ToolService"),
}


@pytest.mark.parametrize("token", REFUSED.values(), ids=REFUSED.keys())
async def test_a_stream_needs_a_token_to_open(token: str) -> None:
    metadata = ((AUTHORIZATION, f"Bearer {token}"),) if token else ()
    async with (
        serving(greeter(), secret=SECRET) as server,
        grpc.aio.insecure_channel(server.address) as connection,
    ):
        stream = pb_grpc.MultiplexServiceStub(connection).Carry(timeout=10, metadata=metadata)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await stream.read()
        assert refused.value.code() == grpc.StatusCode.UNAUTHENTICATED
        assert server.calls == []


async def test_a_stream_with_a_token_opens() -> None:
    metadata = ((AUTHORIZATION, f"Bearer {TokenSigner(SECRET).token(ANN, STREAMS)}"),)
    async with (
        serving(greeter(), secret=SECRET) as server,
        grpc.aio.insecure_channel(server.address) as connection,
    ):
        stream = pb_grpc.MultiplexServiceStub(connection).Carry(timeout=10, metadata=metadata)
        assert await stream.read() == pb.CarryResponse()
        stream.cancel()


async def test_calls_are_refused_and_not_stuck_with_another_secret() -> None:
    async with serving(greeter(), secret=SECRET) as server, multiplexed(server, "b" * 40) as to:
        stub = orchestrator_pb2_grpc.OrchestratorServiceStub(to)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await stub.ListStrategies(orchestrator_pb2.ListStrategiesRequest(), timeout=10)
        assert refused.value.code() == grpc.StatusCode.UNAUTHENTICATED
        assert server.paths[0] == CARRY
        assert server.calls == []
