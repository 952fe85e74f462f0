"""A real server in a thread, for a client that is not asynchronous."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

from cli import fakes
from heddle.assistant.v1 import assistant_pb2_grpc
from heddle.connector.v1 import connector_pb2_grpc
from heddle.knowledge.v1 import knowledge_pb2_grpc
from heddle.orchestrator.v1 import orchestrator_pb2_grpc
from heddle.tool.v1 import tool_pb2_grpc
from heddle_runtime.serving.server import App, Binding, bind, running
from heddle_runtime.settings.service import ServiceSettings
from structlog.testing import capture_logs


@dataclass
class Services:
    """The services behind one address."""

    address: str = ""
    knowledge: fakes.Knowledge = field(default_factory=fakes.Knowledge)
    orchestrator: fakes.Orchestrator = field(default_factory=fakes.Orchestrator)


@contextmanager
def serving(services: Services, settings: ServiceSettings) -> Iterator[Services]:
    """Serve `services` until the block is left."""
    with in_thread(_app(services), settings) as services.address:
        yield services


@contextmanager
def in_thread(app: App, settings: ServiceSettings) -> Iterator[str]:
    """Serve `app` until the block is left; yield its address."""
    ready = threading.Event()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()
    address = ""

    async def serve() -> None:
        nonlocal address
        async with running(app, settings) as server:
            address = server.address
            ready.set()
            await stop.wait()

    def main() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(serve())

    thread = threading.Thread(target=main)
    with capture_logs():  # they would mix with what the command prints
        thread.start()
        try:
            assert ready.wait(20)
            yield address
        finally:
            loop.call_soon_threadsafe(stop.set)
            thread.join(20)


@asynccontextmanager
async def _app(services: Services) -> AsyncIterator[Sequence[Binding]]:
    yield [
        bind(knowledge_pb2_grpc.add_KnowledgeServiceServicer_to_server, services.knowledge),
        bind(
            tool_pb2_grpc.add_ToolServiceServicer_to_server,
            fakes.Tools(),  # type: ignore[abstract] # it does not offer every method
        ),
        bind(
            connector_pb2_grpc.add_ConnectorServiceServicer_to_server,
            fakes.Connectors(),  # type: ignore[abstract] # it does not offer every method
        ),
        bind(
            assistant_pb2_grpc.add_AssistantServiceServicer_to_server,
            fakes.Assistants(),  # type: ignore[abstract] # it does not offer every method
        ),
        bind(
            orchestrator_pb2_grpc.add_OrchestratorServiceServicer_to_server, services.orchestrator
        ),
    ]
