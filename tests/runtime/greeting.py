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
from heddle_runtime.errors import InvalidRequestError, ResourceExhaustedError, Violation
from heddle_runtime.identity.call_metadata import Context, caller
from heddle_runtime.rpc.client import channel
from heddle_runtime.serving.server import Binding, Running, bind, running
from heddle_runtime.settings.service import ServiceSettings

CONTRACT = pb.DESCRIPTOR.services_by_name["OrchestratorService"]


@dataclass
class Greeter(pb_grpc.OrchestratorServiceServicer):
    """Says who called; fails, hangs or counts when the reference says so."""

    ended: list[str] = field(default_factory=list)
    """The references of the calls that are over, however they ended."""
    asked: list[str] = field(default_factory=list)
    """The references and page tokens that came in calls of one answer."""
    fresh: list[bool] = field(default_factory=list)
    """Whether the callers of `ListStrategies` changed settings a moment ago."""
    slow: bool = False
    """Whether `slow once` was so."""
    streams: int = 0
    """The streams that were called."""
    flooded: int = 0
    """The messages of all floods."""
    free: asyncio.Event = field(default_factory=asyncio.Event)
    """What those wait for that are told to wait."""

    async def ListStrategies(
        self, request: pb.ListStrategiesRequest, context: Context
    ) -> pb.ListStrategiesResponse:
        self.asked.append(request.page_token)
        self.fresh.append(caller().fresh)
        match request.page_token:
            case "busy":
                raise ResourceExhaustedError("Too many questions.", retry_after=7, provider="p")
            case "slow once" if not self.slow:
                self.slow = True
                await asyncio.sleep(60)
            case "broken":
                raise ValueError("postgresql://heddle:s3cret@db/heddle is down")
            case "slow":
                await asyncio.sleep(60)
            case _:
                pass
        who = caller()
        names = (who.identity.subject, who.request_id)
        return pb.ListStrategiesResponse(strategies=[pb.Strategy(name=name) for name in names])

    async def RunWholeCompletion(
        self, request: pb.RunWholeCompletionRequest, context: Context
    ) -> pb.RunWholeCompletionResponse:
        reference = request.run.assistant_reference
        self.asked.append(reference)
        try:
            if reference == "hang":
                await asyncio.sleep(60)
            if reference.startswith("wrong"):
                length = int(reference.removeprefix("wrong"))
                raise InvalidRequestError("Wrong.", [Violation("it", "x" * length)])
            text = "x" * int(reference) if reference.isdecimal() else reference
            return pb.RunWholeCompletionResponse(events=[pb.RunEvent(text_delta=text)])
        finally:
            self.ended.append(reference)

    async def RunCompletion(
        self, request: pb.RunCompletionRequest, context: Context
    ) -> AsyncIterator[pb.RunCompletionResponse]:
        self.streams += 1
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
                case other:
                    async for response in self._more(other):
                        yield response
        finally:
            self.ended.append(request.assistant_reference)

    async def _more(self, reference: str) -> AsyncIterator[pb.RunCompletionResponse]:
        match reference:
            case "wait":
                await self.free.wait()
            case "flood" | "drizzle" | "nothing":
                size = {"flood": 1000, "drizzle": 1, "nothing": 0}[reference]
                while True:
                    self.flooded += 1
                    yield say("x" * size) if size else pb.RunCompletionResponse()
            case tale if tale.startswith("tale"):
                for number in range(20):
                    await asyncio.sleep(0)
                    yield say(f"{tale}, page {number}")
            case size if size.isdecimal():
                yield say("x" * int(size))
            case _:
                pass


def say(text: str) -> pb.RunCompletionResponse:
    return pb.RunCompletionResponse(events=[pb.RunEvent(text_delta=text)])


def ask(reference: str) -> pb.RunCompletionRequest:
    message = chat_pb2.Message(role=chat_pb2.ROLE_USER)
    return pb.RunCompletionRequest(assistant_reference=reference, messages=[message])


def ask_whole(reference: str) -> pb.RunWholeCompletionRequest:
    return pb.RunWholeCompletionRequest(run=ask(reference))


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
        yield [bind(register, greeter)]

    async with running(app(), settings) as server:
        yield server


@asynccontextmanager
async def reaching(transport: str, server: Running) -> AsyncGenerator[grpc.aio.Channel]:
    """Yield a channel to `server` of the kind `transport`: local, calls or pipe."""
    if transport == "local":
        yield server.local
        return
    async with channel(server.address, CONTRACT) as connection:
        if transport == "pipe":
            await connection.channel_ready()
        yield connection
