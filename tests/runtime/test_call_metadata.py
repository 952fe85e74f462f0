"""A call between services, whatever carries it: the caller sees no difference."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator

import grpc
import pytest
from heddle.connector.v1 import connector_pb2, connector_pb2_grpc
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.orchestrator.v1 import orchestrator_pb2_grpc as pb_grpc
from heddle_runtime.errors import (
    DeadlineError,
    HeddleError,
    InvalidRequestError,
    ResourceExhaustedError,
    UnimplementedError,
    from_rpc,
)
from heddle_runtime.identity.call_metadata import CALLER, Caller, calling_as, new_call_options
from heddle_runtime.identity.callers import DEVELOPER
from heddle_runtime.rpc.client import streaming
from heddle_runtime.settings.service import ServiceSettings
from patience import until
from runtime.greeting import Greeter, ask, greeting, lacking, reaching


@pytest.fixture
def greeter() -> Greeter:
    return Greeter()  # type: ignore[abstract] # it does not offer every method


@pytest.fixture(params=["local", "calls", "pipe"])
async def service(
    request: pytest.FixtureRequest, greeter: Greeter
) -> AsyncIterator[grpc.aio.Channel]:
    async with (
        greeting(greeter, ServiceSettings(drain_wait=0)) as server,
        reaching(request.param, server) as connection,
    ):
        yield connection


async def failure(call: object) -> HeddleError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        if hasattr(call, "__aiter__"):
            [response async for response in call]
        else:
            await call  # type: ignore[misc] # a unary call
    return from_rpc(caught.value)


async def test_responses_arrive_in_order_and_the_stream_ends(service: grpc.aio.Channel) -> None:
    call = pb_grpc.OrchestratorServiceStub(service).RunCompletion(ask(""), **new_call_options(5))

    assert [response.events[0].text_delta async for response in call] == ["0", "1", "2"]


@pytest.mark.parametrize("fresh", [True, False])
async def test_a_change_of_settings_is_known_in_the_services_called(
    service: grpc.aio.Channel, greeter: Greeter, fresh: bool
) -> None:
    stub = pb_grpc.OrchestratorServiceStub(service)
    with calling_as(Caller("req_1", DEVELOPER, fresh=fresh)):
        await stub.ListStrategies(pb.ListStrategiesRequest(), **new_call_options(5))
    assert greeter.fresh == [fresh]


async def test_a_failure_arrives_as_the_exception_that_was_raised(
    service: grpc.aio.Channel,
) -> None:
    stub = pb_grpc.OrchestratorServiceStub(service)
    for call in (
        stub.ListStrategies(pb.ListStrategiesRequest(page_token="busy"), **new_call_options(5)),
        stub.RunCompletion(ask("busy"), **new_call_options(5)),
    ):
        error = await failure(call)
        assert type(error) is ResourceExhaustedError
        assert (error.message, error.retry_after) == ("Too many questions.", 7)


async def test_the_text_of_an_unexpected_exception_stays_in_the_log(
    service: grpc.aio.Channel, caplog: pytest.LogCaptureFixture
) -> None:
    stub = pb_grpc.OrchestratorServiceStub(service)
    for call in (
        stub.ListStrategies(pb.ListStrategiesRequest(page_token="broken"), **new_call_options(5)),
        stub.RunCompletion(ask("broken"), **new_call_options(5)),
    ):
        with caplog.at_level(logging.CRITICAL):
            error = await failure(call)
        assert type(error) is HeddleError
        assert "s3cret" not in error.message
        assert "request id" in error.message


async def test_all_missing_members_are_named(service: grpc.aio.Channel) -> None:
    error = await failure(
        pb_grpc.OrchestratorServiceStub(service).RunCompletion(lacking(), **new_call_options(5))
    )

    assert isinstance(error, InvalidRequestError)
    assert {v.field for v in error.violations} == {"messages"}


async def test_a_call_without_a_deadline_is_refused(service: grpc.aio.Channel) -> None:
    stub = pb_grpc.OrchestratorServiceStub(service)

    assert isinstance(
        await failure(stub.ListStrategies(pb.ListStrategiesRequest())), InvalidRequestError
    )


async def test_a_deadline_ends_unary_calls_and_streams(service: grpc.aio.Channel) -> None:
    stub = pb_grpc.OrchestratorServiceStub(service)
    for call in (
        stub.ListStrategies(pb.ListStrategiesRequest(page_token="slow"), **new_call_options(0.2)),
        stub.RunCompletion(ask("hang"), **new_call_options(0.2)),
    ):
        started = time.perf_counter()
        assert isinstance(await failure(call), DeadlineError)
        assert time.perf_counter() - started < 10


async def test_leaving_a_stream_ends_the_servicer(
    service: grpc.aio.Channel, greeter: Greeter
) -> None:
    stub = pb_grpc.OrchestratorServiceStub(service)
    for reference in ("hang", "flood"):
        call = stub.RunCompletion(ask(reference), **new_call_options(30))
        async with streaming(call) as responses:
            async for _ in responses:
                break
    await until(lambda: len(greeter.ended) == 2)
    assert sorted(greeter.ended) == ["flood", "hang"]


async def test_cancelling_the_reader_ends_the_servicer(
    service: grpc.aio.Channel, greeter: Greeter
) -> None:
    stub = pb_grpc.OrchestratorServiceStub(service)

    async def read() -> None:
        async with streaming(stub.RunCompletion(ask("hang"), **new_call_options(30))) as responses:
            async for _ in responses:
                pass

    readers = [asyncio.create_task(read()) for _ in range(50)]
    await until(lambda: greeter.streams == 50)
    for reader in readers:
        reader.cancel()
    await asyncio.wait(readers)

    await until(lambda: len(greeter.ended) == 50)
    assert greeter.ended == ["hang"] * 50


async def test_who_asks_travels_with_the_call(service: grpc.aio.Channel) -> None:
    CALLER.set(Caller("req_1", DEVELOPER))
    stub = pb_grpc.OrchestratorServiceStub(service)

    response = await stub.ListStrategies(pb.ListStrategiesRequest(), **new_call_options(5))

    assert [s.name for s in response.strategies] == ["developer", "req_1"]


async def test_a_method_that_nobody_offers_is_told(service: grpc.aio.Channel) -> None:
    stub = pb_grpc.OrchestratorServiceStub(service)
    call = stub.ListPromptProcessors(pb.ListPromptProcessorsRequest(), **new_call_options(5))

    error = await failure(call)

    assert isinstance(error, UnimplementedError)
    assert error.code is grpc.StatusCode.UNIMPLEMENTED


async def test_a_service_that_no_server_offers_is_unimplemented(service: grpc.aio.Channel) -> None:
    stub = connector_pb2_grpc.ConnectorServiceStub(service)
    call = stub.GenerateWholeMessage(
        connector_pb2.GenerateWholeMessageRequest(), **new_call_options(5)
    )
    stream = stub.GenerateMessage(connector_pb2.GenerateMessageRequest(), **new_call_options(5))

    assert isinstance(await failure(call), UnimplementedError)
    assert isinstance(await failure(stream), UnimplementedError)


async def test_a_message_that_no_trailer_can_hold_is_shortened(service: grpc.aio.Channel) -> None:
    stub = pb_grpc.OrchestratorServiceStub(service)

    error = await failure(stub.RunCompletion(ask("long"), **new_call_options(5)))

    assert isinstance(error, ResourceExhaustedError)
    assert error.message.startswith("é")
