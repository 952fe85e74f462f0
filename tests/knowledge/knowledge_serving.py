"""The knowledge service over a store of its own."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from heddle.knowledge.v1 import knowledge_pb2_grpc as pb_grpc
from heddle_knowledge.embedders.local_embedders import LocalEmbedder
from heddle_knowledge.store import open_store
from heddle_runtime.rpc.client import channel
from heddle_runtime.serving.server import Binding, running
from heddle_runtime.settings.service import ServiceSettings
from knowledge.serving import CONTRACT, knowledge_binding
from knowledge.shared_parser import shared_parser

from benchmarks.retrieval.hashing_embedder import HashingEmbedder


@asynccontextmanager
async def knowledge_service(
    folder: Path, settings: ServiceSettings, **options: Any
) -> AsyncGenerator["pb_grpc.KnowledgeServiceAsyncStub"]:
    """Run the service in a folder, and connect to it."""

    @asynccontextmanager
    async def app() -> AsyncGenerator[list[Binding]]:
        others = [LocalEmbedder()]
        async with (
            open_store(folder, HashingEmbedder(), others=others, parser=shared_parser()) as store,
            knowledge_binding(store, **options) as bindings,
        ):
            yield bindings

    async with (
        running(app(), settings) as service,
        channel(service.address, CONTRACT, secret=settings.identity_secret) as connection,
    ):
        await connection.channel_ready()
        yield pb_grpc.KnowledgeServiceStub(connection)
