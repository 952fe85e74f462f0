"""A service to call: `OrchestratorService` with a servicer that does as it is told."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import grpc
from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.orchestrator.v1 import orchestrator_pb2_grpc as pb_grpc
from heddle_runtime.boundary import Context
from heddle_runtime.calls import caller
from heddle_runtime.client import channel
from heddle_runtime.errors import ResourceExhaustedError
from heddle_runtime.server import Binding, Running, bind, running
from heddle_runtime.settings import ServiceSettings

CONTRACT = pb.DESCRIPTOR.services_by_name["OrchestratorService"]


@dataclass
class Greeter(pb_grpc.OrchestratorServiceServicer):
    """Says who called; fails, hangs or counts when the reference says so."""

    ended: list[str] = field(default_factory=list)

    async def ListStrategies(
        self, request: pb.ListStrategiesRequest, context: Context
    ) -> pb.ListStrategiesResponse:
        match request.page_token:
            case "busy":
                raise ResourceExhaustedError("Too many questions.", retry_after=7, provider="p")
            case "broken":
                raise ValueError("postgresql://heddle:s3cret@db/heddle is down")
            case "slow":
                await asyncio.sleep(60)
            case _:
                pass
        who = caller()
        names = (who.identity.subject, who.request_id)
        return pb.ListStrategiesResponse(strategies=[pb.Strategy(name=name) for name in names])

    async def RunCompletion(
        self, request: pb.RunCompletionRequest, context: Context
    ) -> AsyncIterator[pb.RunCompletionResponse]:
        try:
            for number in range(3):
                yield say(str(number))
            match request.assistant_reference:
                case "busy":
                    raise ResourceExhaustedError("Too many questions.", retry_after=7)
                case "long":
                    raise ResourceExhaustedError("é" * 20_000)
                case "broken":
                    raise ValueError("postgresql://heddle:s3cret@db/heddle is down")
                case "hang":
                    await asyncio.sleep(60)
                case "flood":
                    while True:
                        yield say("x" * 1000)
                case _:
                    pass
        finally:
            self.ended.append(request.assistant_reference)


def say(text: str) -> pb.RunCompletionResponse:
    return pb.RunCompletionResponse(events=[pb.RunEvent(text_delta=text)])


def ask(reference: str) -> pb.RunCompletionRequest:
    message = chat_pb2.Message(role=chat_pb2.ROLE_USER)
    return pb.RunCompletionRequest(assistant_reference=reference, messages=[message])


def lacking() -> pb.RunCompletionRequest:
    """Return a request that lacks required members, one of them deep inside."""
    model = assistant_pb2.ModelRef(connector="c")
    return pb.RunCompletionRequest(assistant=assistant_pb2.Assistant(model=model))


@asynccontextmanager
async def greeting(greeter: Greeter, settings: ServiceSettings) -> AsyncGenerator[Running]:
    """Serve `greeter`."""

    @asynccontextmanager
    async def app() -> AsyncGenerator[Sequence[Binding]]:
        # It does not offer every method of the contract.
        register = pb_grpc.add_OrchestratorServiceServicer_to_server
        yield [bind(CONTRACT, register, greeter)]

    async with running(app(), settings) as server:
        yield server


@asynccontextmanager
async def reaching(transport: str, server: Running) -> AsyncGenerator[grpc.aio.Channel]:
    """Yield a channel to `server` of the kind `transport`."""
    if transport == "local":
        yield server.local
    else:
        async with channel(server.address, CONTRACT) as connection:
            yield connection
