"""Messages that are no messages of the contract, from callers with and without a token."""

from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from google.protobuf.message import DecodeError
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle_runtime.identity.call_metadata import AUTHORIZATION
from heddle_runtime.identity.callers import Identity, TokenSigner
from heddle_runtime.settings.service import ServiceSettings
from runtime.greeting import CONTRACT, Greeter, greeting
from runtime.multiplex.serving import CARRY, LIST, STREAM, by_hand, opening, serving

SECRET = "a-secret-of-at-least-32-characters"
GUARDED = ServiceSettings(drain_wait=0, HEDDLE_IDENTITY_SECRET=SECRET)  # type: ignore[call-arg] # the alias is the variable's name
GARBAGE = b"\xff\xff\xff"


def stream_metadata() -> tuple[tuple[str, str]]:
    """Return the metadata of a multiplexed stream, with a token that is valid from now on."""
    token = TokenSigner(SECRET).token(Identity("ann"), "heddle.multiplex.v1.MultiplexService")
    return ((AUTHORIZATION, f"Bearer {token}"),)


def greeter() -> Greeter:
    return Greeter()  # type: ignore[abstract] # it does not offer every method


@pytest.fixture
async def wire() -> AsyncIterator[grpc.aio.Channel]:
    """A channel of gRPC's own to a service that requires tokens."""
    async with (
        greeting(greeter(), GUARDED) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        yield channel


async def code(wire: grpc.aio.Channel, method: str, token: str) -> grpc.StatusCode:
    """Return the code that a call with three bytes fails with."""
    metadata = ((AUTHORIZATION, f"Bearer {token}"),)
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        if method == STREAM:
            stream: Any = wire.unary_stream(method)
            await anext(aiter(stream(GARBAGE, timeout=10, metadata=metadata)))
        else:
            unary: Any = wire.unary_unary(method)
            await unary(GARBAGE, timeout=10, metadata=metadata)
    return failure.value.code()


@pytest.mark.parametrize("method", [LIST, STREAM])
async def test_a_message_that_cannot_be_decoded_is_an_invalid_argument(
    wire: grpc.aio.Channel, method: str
) -> None:
    token = TokenSigner(SECRET).token(Identity("ann"), CONTRACT.full_name)
    assert await code(wire, method, token) == grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize("method", [LIST, STREAM])
async def test_messages_of_callers_without_a_token_are_not_decoded(
    wire: grpc.aio.Channel, method: str
) -> None:
    assert await code(wire, method, "forged") == grpc.StatusCode.UNAUTHENTICATED


async def test_a_multiplexed_message_that_cannot_be_decoded_is_an_invalid_argument() -> None:
    async with serving(greeter()) as server, by_hand(server) as hand:
        await hand.say(opening(1, LIST, GARBAGE))
        end = await hand.end_of(1)
    assert end.error.code == grpc.StatusCode.INVALID_ARGUMENT.value[0]


async def test_multiplexed_messages_of_callers_without_a_token_are_not_decoded() -> None:
    async with (
        serving(greeter(), secret=SECRET) as server,
        by_hand(server, stream_metadata()) as hand,
    ):
        await hand.say(opening(1, LIST, GARBAGE))
        end = await hand.end_of(1)
    assert end.error.code == grpc.StatusCode.UNAUTHENTICATED.value[0]


async def test_a_frame_that_cannot_be_decoded_is_an_invalid_argument(
    wire: grpc.aio.Channel,
) -> None:
    carry: Any = wire.stream_stream(CARRY)
    stream = carry(timeout=10, metadata=stream_metadata())
    await stream.write(GARBAGE)
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        while await stream.read() is not grpc.aio.EOF:
            pass
    assert failure.value.code() == grpc.StatusCode.INVALID_ARGUMENT


def test_the_bytes_of_these_tests_are_no_message() -> None:
    with pytest.raises(DecodeError):
        pb.ListStrategiesRequest.FromString(GARBAGE)
