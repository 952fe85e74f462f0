"""Both services of files and collections, at which people stand."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
from heddle.knowledge.v1 import files_pb2 as pb
from heddle.knowledge.v1 import files_pb2_grpc, knowledge_pb2, knowledge_pb2_grpc
from heddle_knowledge.embedders.embedding import Kind, Vectors
from heddle_knowledge.store import open_store
from heddle_knowledge.uploads.ingestion_queue import DEFAULT_LIMITS, QueueLimits
from heddle_runtime.errors import HeddleError, from_rpc
from heddle_runtime.identity.call_metadata import CALLER, Caller
from heddle_runtime.identity.callers import ADMIN, ORGANIZATION_ADMIN, Identity
from heddle_runtime.serving.server import Binding, running
from knowledge.opening import NOWHERE, Web, knowledge_and_files
from knowledge.shared_parser import shared_parser
from tools_service.serving import SETTINGS

from benchmarks.retrieval.hashing_embedder import HashingEmbedder

PEOPLE = {
    "ana": Identity("ana@uni.example", "uni", ("creator",)),
    "ben": Identity("ben@uni.example", "uni", ("creator",)),
    "head": Identity("head@uni.example", "uni", (ORGANIZATION_ADMIN,)),
    "twin": Identity("ana@uni.example", "college", ("creator",)),
    "root": Identity("root", scopes=(ADMIN,)),
}


class SlowEmbedder(HashingEmbedder):
    """Embeds nothing until it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may = asyncio.Event()
        self.may.set()
        self.has_begun = asyncio.Event()

    async def embed(self, texts: Any, kind: Kind) -> Vectors:
        self.has_begun.set()
        await self.may.wait()
        return await super().embed(texts, kind)


@dataclass
class Desk:
    """Both services, in the name of whoever is asked for."""

    files: Any
    knowledge: Any
    embedder: SlowEmbedder

    async def __call__(self, person: str, method: str, *, grant: Any = "", **fields: Any) -> Any:
        before = CALLER.set(Caller("req", PEOPLE[person], grant=grant))
        service, module = (self.files, pb) if "File" in method else (self.knowledge, knowledge_pb2)
        try:
            request = getattr(module, f"{method}Request")(**fields)
            return await getattr(service, method)(request, timeout=30)
        except grpc.aio.AioRpcError as error:
            raise from_rpc(error) from error
        finally:
            CALLER.reset(before)

    async def upload(self, person: str, filename: str = "shed.md", text: str = "Threads.") -> str:
        made = await self(
            person, "CreateFile", filename=filename, purpose="assistants", data=text.encode()
        )
        return str(made.file.id)

    async def collection(self, person: str, name: str = "looms", **more: Any) -> str:
        made = knowledge_pb2.Collection(name=name, **more)
        return str((await self(person, "CreateCollection", collection=made)).collection.id)

    async def held_up(self) -> dict[str, str]:
        """Leave a file of Ana's on its way into a collection, and return which and where."""
        await self.collection("ana")
        fields = {"collection": "looms", "file_id": await self.upload("ana")}
        self.embedder.may.clear()
        await self("ana", "AttachFile", **fields)
        await self.embedder.has_begun.wait()
        return fields

    async def done(self, collection: str, identifier: str) -> Any:
        """Wait for a file of Ana's and return it."""
        async with asyncio.timeout(20):
            while True:
                fields = {"collection": collection, "file_id": identifier}
                found = (await self("ana", "GetAttachedFile", **fields)).file
                if found.status != pb.ATTACHMENT_STATUS_IN_PROGRESS:
                    return found
                await asyncio.sleep(0.01)

    async def ingest(self, collection: str, name: str, data: bytes, **more: Any) -> None:
        """Add a document of Ana's without a file."""
        before = CALLER.set(Caller("req", PEOPLE["ana"]))
        try:
            request = knowledge_pb2.IngestDocumentRequest(
                collection=collection, name=name, data=data, **more
            )
            [_ async for _ in self.knowledge.IngestDocument(request, timeout=30)]
        finally:
            CALLER.reset(before)

    async def passages(self, collection: str) -> list[Any]:
        fields = {"collections": [collection], "query": "threads", "top_k": 9}
        (result,) = (await self("ana", "SearchCollections", **fields)).results
        return list(result.passages)


@asynccontextmanager
async def serving(
    root: Path, limits: QueueLimits = DEFAULT_LIMITS, web: Web = NOWHERE, **backends: Any
) -> AsyncIterator[Desk]:
    embedder = SlowEmbedder()

    @asynccontextmanager
    async def app() -> AsyncIterator[list[Binding]]:
        async with (
            open_store(root, embedder, parser=shared_parser()) as store,
            knowledge_and_files(store, root, limits, web=web, **backends) as services,
        ):
            yield services

    async with running(app(), SETTINGS) as service:
        local = service.local
        yield Desk(
            files_pb2_grpc.FileServiceStub(local),
            knowledge_pb2_grpc.KnowledgeServiceStub(local),
            embedder,
        )


async def refusal(desk: Desk, person: str, method: str, **fields: Any) -> HeddleError:
    with pytest.raises(HeddleError) as caught:
        await desk(person, method, **fields)
    return caught.value
