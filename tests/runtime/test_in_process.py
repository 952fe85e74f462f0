"""Calls within calls of one process: one deadline for all, and what is checked once."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from heddle.chat.v1 import chat_pb2
from heddle.connector.v1 import connector_pb2, connector_pb2_grpc
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.orchestrator.v1 import orchestrator_pb2_grpc as pb_grpc
from heddle_runtime.errors import DeadlineError, InvalidRequestError, from_rpc
from heddle_runtime.identity.call_metadata import (
    Caller,
    Context,
    call_options,
    caller,
    calling_as,
    new_call_options,
)
from heddle_runtime.identity.callers import Identity
from heddle_runtime.rpc.client import streaming
from heddle_runtime.rpc.in_process import InProcessChannel
from patience import until

HI = chat_pb2.Message(role=chat_pb2.ROLE_USER)


class Model(connector_pb2_grpc.ConnectorServiceServicer):
    """Takes its time, and remembers how that ended."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.left: float | None = None
        self.cancelled = False

    async def GenerateWholeMessage(
        self, request: connector_pb2.GenerateWholeMessageRequest, context: Context
    ) -> connector_pb2.GenerateWholeMessageResponse:
        self.left = context.time_remaining()
        try:
            await asyncio.sleep(self.seconds)
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return connector_pb2.GenerateWholeMessageResponse()


class Relay(pb_grpc.OrchestratorServiceServicer):
    """Asks the model, in a task of its own if it is told to."""

    def __init__(self, models: Any, *, apart: bool) -> None:
        self.models = models
        self.apart = apart
        self.failure: grpc.aio.AioRpcError | None = None

    async def RunWholeCompletion(
        self, request: pb.RunWholeCompletionRequest, context: Context
    ) -> pb.RunWholeCompletionResponse:
        order = connector_pb2.GenerateWholeMessageRequest()
        asked = self.models.GenerateWholeMessage(order, **call_options(context, 0.2))
        try:
            await (asyncio.create_task(asked) if self.apart else asked)
        except grpc.aio.AioRpcError as error:
            self.failure = error
        return pb.RunWholeCompletionResponse()


def stack(seconds: float, *, apart: bool = False) -> tuple[Any, Relay, Model]:
    model = Model(seconds)  # type: ignore[abstract] # what is not asked for is not there
    channel: Any = InProcessChannel()  # stands for a server, and for a channel
    connector_pb2_grpc.add_ConnectorServiceServicer_to_server(model, channel)
    relay = Relay(connector_pb2_grpc.ConnectorServiceStub(channel), apart=apart)  # type: ignore[abstract] # as above
    pb_grpc.add_OrchestratorServiceServicer_to_server(relay, channel)
    return pb_grpc.OrchestratorServiceStub(channel), relay, model


def request() -> pb.RunWholeCompletionRequest:
    return pb.RunWholeCompletionRequest(run=pb.RunCompletionRequest(messages=[HI]))


@pytest.mark.parametrize("apart", [False, True])
async def test_the_deadline_of_the_outer_call_ends_the_inner_one(*, apart: bool) -> None:
    stub, _, model = stack(60, apart=apart)
    begun = time.monotonic()

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stub.RunWholeCompletion(request(), **new_call_options(0.1))

    assert isinstance(from_rpc(caught.value), DeadlineError)
    assert time.monotonic() - begun < 5
    assert model.left is not None
    assert model.left <= 0.1
    await until(lambda: model.cancelled)


async def test_an_inner_call_may_have_less_time() -> None:
    stub, relay, model = stack(60)

    await stub.RunWholeCompletion(request(), **new_call_options(30))

    assert relay.failure is not None
    assert isinstance(from_rpc(relay.failure), DeadlineError)
    assert model.cancelled


async def test_what_comes_from_outside_is_checked_and_an_inner_call_believed() -> None:
    stub, relay, model = stack(0)

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stub.RunWholeCompletion(pb.RunWholeCompletionRequest(), **new_call_options(5))
    await stub.RunWholeCompletion(request(), **new_call_options(5))

    assert isinstance(from_rpc(caught.value), InvalidRequestError)
    assert relay.failure is None
    assert model.left is not None


async def test_a_stream_has_the_caller_of_its_call_and_not_of_its_reader() -> None:
    seen: list[Caller] = []

    class Teller(pb_grpc.OrchestratorServiceServicer):
        async def RunCompletion(
            self, request: pb.RunCompletionRequest, context: Context
        ) -> AsyncIterator[pb.RunCompletionResponse]:
            try:
                while True:
                    seen.append(caller())
                    yield pb.RunCompletionResponse()
            finally:
                seen.append(caller())

    local: Any = InProcessChannel()
    pb_grpc.add_OrchestratorServiceServicer_to_server(Teller(), local)  # type: ignore[abstract] # it offers one method
    ann, ben = (Caller(name, Identity(name), grant=name) for name in ("ann", "ben"))
    stub: Any = pb_grpc.OrchestratorServiceStub(local)
    with calling_as(ann):
        stream = stub.RunCompletion(
            pb.RunCompletionRequest(assistant_reference="1", messages=[HI]), **new_call_options(5)
        )
    with calling_as(ben):
        async with streaming(stream) as responses:
            for _ in range(2):
                await anext(aiter(responses))
                assert caller() == ben
    assert seen == [ann] * 3


class Two(pb_grpc.OrchestratorServiceServicer):
    """Answers one call at once, and another with a stream."""

    async def RunWholeCompletion(
        self, request: pb.RunWholeCompletionRequest, context: Context
    ) -> pb.RunWholeCompletionResponse:
        return pb.RunWholeCompletionResponse()

    async def RunCompletion(
        self, request: pb.RunCompletionRequest, context: Context
    ) -> AsyncIterator[pb.RunCompletionResponse]:
        yield pb.RunCompletionResponse()


async def drained(stream: Any) -> int:
    async with streaming(stream) as responses:
        return len([each async for each in responses])


async def test_calls_of_a_service_that_is_starting_wait_for_it() -> None:
    channel: Any = InProcessChannel(is_starting=True)
    stub: Any = pb_grpc.OrchestratorServiceStub(channel)
    run = pb.RunCompletionRequest(assistant_reference="1", messages=[HI])
    models: Any = connector_pb2_grpc.ConnectorServiceStub(channel)
    unary = asyncio.create_task(stub.RunWholeCompletion(request(), **new_call_options(30)))
    stream = asyncio.create_task(drained(stub.RunCompletion(run, **new_call_options(30))))
    unknown = asyncio.create_task(
        models.ListModels(connector_pb2.ListModelsRequest(), **new_call_options(30))
    )

    with pytest.raises(grpc.aio.AioRpcError) as late:
        await stub.RunWholeCompletion(request(), **new_call_options(0.05))
    assert not any(each.done() for each in (unary, stream, unknown))
    pb_grpc.add_OrchestratorServiceServicer_to_server(Two(), channel)  # type: ignore[abstract] # what is not asked for is not there
    channel.open()

    assert isinstance(from_rpc(late.value), DeadlineError)
    assert await unary == pb.RunWholeCompletionResponse()
    assert await stream == 1
    with pytest.raises(grpc.aio.AioRpcError) as missing:
        await unknown
    assert missing.value.code() == grpc.StatusCode.UNIMPLEMENTED
