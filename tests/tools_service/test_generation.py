"""The small fast model, behind the connector service."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from heddle.chat.v1 import chat_pb2
from heddle.connector.v1 import connector_pb2 as pb
from heddle.connector.v1 import connector_pb2_grpc as pb_grpc
from heddle_runtime.errors import ProviderRefusedError
from heddle_runtime.identity.call_metadata import Context
from heddle_runtime.rpc.client import channel
from heddle_runtime.serving.server import Binding, bind, running
from heddle_tools_service.capabilities.small_model import SmallModel
from heddle_tools_service.providers.small_model import Channel, ConnectorModel
from heddle_tools_service.sdk import ToolCall, ToolConfig, ToolResult, ToolUnavailableError, tool
from tools_service.serving import SETTINGS, said, serving_tools, text_of

CONTRACT = pb.DESCRIPTOR.services_by_name["ConnectorService"]


class Connector(pb_grpc.ConnectorServiceServicer):
    """Answers with two pieces, refuses, or never ends."""

    def __init__(self) -> None:
        self.seen: list[pb.GenerateMessageRequest] = []
        self.stopped = asyncio.Event()

    async def ListConnectors(
        self, request: pb.ListConnectorsRequest, context: Context
    ) -> pb.ListConnectorsResponse:
        return pb.ListConnectorsResponse()

    async def ListModels(
        self, request: pb.ListModelsRequest, context: Context
    ) -> pb.ListModelsResponse:
        return pb.ListModelsResponse()

    async def CheckProvider(
        self, request: pb.CheckProviderRequest, context: Context
    ) -> pb.CheckProviderResponse:
        return pb.CheckProviderResponse()

    async def GenerateMessage(
        self, request: pb.GenerateMessageRequest, context: Context
    ) -> AsyncGenerator[pb.GenerateMessageResponse]:
        raise AssertionError("a tool wants the whole answer")
        yield

    async def GenerateWholeMessage(
        self, request: pb.GenerateWholeMessageRequest, context: Context
    ) -> pb.GenerateWholeMessageResponse:
        self.seen.append(request.generation)
        if request.generation.model.model == "refusing":
            raise ProviderRefusedError("The model refuses.")
        if request.generation.model.model == "endless":
            try:
                await asyncio.Event().wait()
            finally:
                self.stopped.set()
        words = [pb.GenerationEvent(text_delta=word) for word in ("wide ", "shed")]
        done = pb.GenerationEvent(done=chat_pb2.Done())
        return pb.GenerateWholeMessageResponse(events=[*words, done])

    async def GetGeneratedImage(
        self, request: pb.GetGeneratedImageRequest, context: Context
    ) -> pb.GetGeneratedImageResponse:
        raise AssertionError("a tool looks at no pictures")


@asynccontextmanager
async def connecting(connector: Connector, transport: str) -> AsyncGenerator[Channel]:
    @asynccontextmanager
    async def app() -> AsyncGenerator[list[Binding]]:
        yield [bind(pb_grpc.add_ConnectorServiceServicer_to_server, connector)]

    async with running(app(), SETTINGS) as service:
        if transport == "local":
            yield service.local
        else:
            async with channel(service.address, CONTRACT) as connection:
                await connection.channel_ready()
                yield connection


@tool("asking", title="Asking")
async def asking(call: ToolCall[ToolConfig], model: SmallModel) -> ToolResult:
    """Asks the small model."""
    try:
        return ToolResult(await model.generate(call.query))
    except ToolUnavailableError as error:
        return ToolResult(f"no answer: {error}")


@pytest.mark.parametrize("transport", ["local", "grpc"])
async def test_a_tool_asks_the_small_model(transport: str) -> None:
    connector = Connector()
    async with (
        connecting(connector, transport) as connection,
        serving_tools(asking, small_model=ConnectorModel(connection, "local/some/model")) as client,
    ):
        _, result = await client.run("asking", {}, said("How wide?"))

    assert text_of(result) == "wide shed"
    [request] = connector.seen
    assert (request.model.connector, request.model.model) == ("local", "some/model")
    assert request.messages[0].parts[0].text == "How wide?"


@pytest.mark.parametrize("transport", ["local", "grpc"])
async def test_a_refusal_is_something_a_tool_can_live_with(transport: str) -> None:
    async with (
        connecting(Connector(), transport) as connection,
        serving_tools(asking, small_model=ConnectorModel(connection, "local/refusing")) as client,
    ):
        _, result = await client.run("asking", {}, said("How wide?"))

    assert text_of(result) == "no answer: The small model gave no answer: The model refuses."


@pytest.mark.parametrize("transport", ["local", "grpc"])
async def test_a_slow_model_leaves_the_tool_time_to_do_without(transport: str) -> None:
    connector = Connector()
    async with (
        connecting(connector, transport) as connection,
        serving_tools(
            asking, small_model=ConnectorModel(connection, "local/endless"), default_timeout=1.8
        ) as client,
    ):
        started = time.perf_counter()
        _, result = await client.run("asking", {}, said("How wide?"))
        took = time.perf_counter() - started
        await asyncio.wait_for(connector.stopped.wait(), 2)

    assert text_of(result).startswith("no answer: ")
    assert 0.5 <= took < 1.8


async def test_without_a_model_the_tool_is_told() -> None:
    async with serving_tools(asking) as client:
        _, result = await client.run("asking", {}, said("How wide?"))

    assert text_of(result) == "no answer: No small fast model is configured."


async def test_a_connector_that_is_down_is_told_without_its_address() -> None:
    async with channel("127.0.0.1:1", CONTRACT) as connection:
        model = ConnectorModel(connection, "local/x")
        with pytest.raises(ToolUnavailableError) as caught:
            await model("?", timeout=2, max_tokens=5)

    assert "127.0.0.1" not in str(caught.value)
