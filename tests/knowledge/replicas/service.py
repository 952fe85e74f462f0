"""Replicas of the knowledge service as processes with folders of their own, and their users."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import grpc
import preloaded
from assistants.serving import SECRET
from heddle.knowledge.v1 import files_pb2 as pb
from heddle.knowledge.v1 import files_pb2_grpc, knowledge_pb2, knowledge_pb2_grpc
from heddle_runtime.errors import from_rpc
from heddle_runtime.identity.call_metadata import CALLER, Caller
from heddle_runtime.identity.callers import Identity
from heddle_runtime.rpc.client import channel
from knowledge.model_server import DIMENSION, ModelSite
from patience import until
from pydantic import SecretStr
from runtime.ports import free_port

ANN = Identity("ann@uni.example", "uni", ("creator",))
_CONTRACTS = (
    files_pb2_grpc.FileServiceStub,
    knowledge_pb2_grpc.KnowledgeServiceStub,
)
IN_PROGRESS, COMPLETED, CANCELLED = (
    pb.ATTACHMENT_STATUS_IN_PROGRESS,
    pb.ATTACHMENT_STATUS_COMPLETED,
    pb.ATTACHMENT_STATUS_CANCELLED,
)


@dataclass
class Replica:
    """A process of the service, as Ann uses it."""

    folder: Path
    environment: dict[str, str]
    address: str
    _stack: AsyncExitStack
    _process: preloaded.Started | None = None
    _stubs: tuple[Any, ...] = field(default=())
    identity: Identity = ANN

    def as_user(self, identity: Identity) -> "Replica":
        """Return the same process, as another user calls it."""
        return replace(self, identity=identity)

    async def start(self) -> None:
        """Start the process, and wait until it answers."""
        with (self.folder / "log").open("ab") as log:
            environment = {**self.environment, "HEDDLE_KNOWLEDGE_LISTEN": self.address}
            self._process = preloaded.start(
                "heddle_knowledge", environment, log.fileno(), self.folder
            )
        self._stack.callback(self.kill)
        connection = channel(self.address, secret=SecretStr(SECRET))
        self._stack.push_async_callback(connection.close)
        self._stubs = tuple(stub(connection) for stub in _CONTRACTS)
        async with asyncio.timeout(60):
            while not await self._is_ready():
                assert self._process.poll() is None, (self.folder / "log").read_text()
                await asyncio.sleep(0.1)

    def kill(self) -> None:
        """Kill the process, with a signal that it cannot handle."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    async def call(self, method: str, **fields: Any) -> Any:
        """Call a method of either contract."""
        is_file = "File" in method
        request = getattr(pb if is_file else knowledge_pb2, f"{method}Request")(**fields)
        before = CALLER.set(Caller("request", self.identity))
        try:
            return await getattr(self._stubs[0 if is_file else 1], method)(request, timeout=60)
        except grpc.aio.AioRpcError as error:
            raise from_rpc(error) from error
        finally:
            CALLER.reset(before)

    async def upload(self, filename: str, text: str, key: str = "") -> str:
        """Upload a file; return its identifier."""
        fields = {"filename": filename, "purpose": "assistants", "upload_key": key}
        return str((await self.call("CreateFile", data=text.encode(), **fields)).file.id)

    async def attach(self, identifier: str) -> None:
        """Begin to bring a file into the collection."""
        await self.call("AttachFile", collection="looms", file_id=identifier)

    async def attached(self, identifier: str) -> pb.AttachedFile:
        """Return a file of the collection."""
        response = await self.call("GetAttachedFile", collection="looms", file_id=identifier)
        file: pb.AttachedFile = response.file
        return file

    async def ended(self, identifier: str) -> pb.AttachedFile:
        """Wait until a file of the collection is not on its way any more."""
        async with asyncio.timeout(60):
            while (file := await self.attached(identifier)).status == IN_PROGRESS:
                await asyncio.sleep(0.05)
        return file

    async def ingest(self, name: str, data: bytes) -> None:
        """Bring a document into the collection."""
        request = knowledge_pb2.IngestDocumentRequest(collection="looms", name=name, data=data)
        before = CALLER.set(Caller("request", self.identity))
        try:
            async for _ in self._stubs[1].IngestDocument(request, timeout=120):
                pass
        except grpc.aio.AioRpcError as error:
            raise from_rpc(error) from error
        finally:
            CALLER.reset(before)

    async def picture(self, document: str, page: int) -> bytes:
        """Return the picture of a page in the collection."""
        fields = {"collection": "looms", "document": document, "page": page}
        return bytes((await self.call("GetPagePicture", **fields)).data)

    async def passages(self, query: str) -> list[str]:
        """Search the collection."""
        fields = {"collections": ["looms"], "query": query, "top_k": 9}
        (result,) = (await self.call("SearchCollections", **fields)).results
        return [each.text for each in result.passages]

    async def _is_ready(self) -> bool:
        try:
            await self.call("ListFiles")
        except Exception:  # noqa: BLE001 - it is being started
            return False
        return True


@asynccontextmanager
async def two_replicas(
    folder: Path, database: str, site: ModelSite, **settings: str
) -> AsyncIterator[tuple[Replica, Replica]]:
    """Yield two replicas that share a database and a model, with a collection of Ann's."""
    shared = {
        **os.environ,
        "HEDDLE_IDENTITY_SECRET": SECRET,
        "HEDDLE_ASSISTANTS_ADDRESS": "none",
        "HEDDLE_KNOWLEDGE_STORE_URL": database,
        "HEDDLE_KNOWLEDGE_EMBEDDINGS_URL": site.url,
        "HEDDLE_KNOWLEDGE_EMBEDDINGS_KEY": site.key,
        "HEDDLE_KNOWLEDGE_EMBEDDINGS_MODEL": "words",
        "HEDDLE_KNOWLEDGE_EMBEDDINGS_DIMENSION": str(DIMENSION),
        "HEDDLE_KNOWLEDGE_SEARCH_TIMEOUT_SECONDS": "60",
        **settings,
    }
    async with AsyncExitStack() as stack:
        replicas = []
        for name in ("first", "second"):
            (folder / name).mkdir()
            data = {"HEDDLE_KNOWLEDGE_DATA_DIR": str(folder / name / "data")}
            address = f"127.0.0.1:{free_port()}"
            replicas.append(Replica(folder / name, shared | data, address, stack))
        await asyncio.gather(*(each.start() for each in replicas))
        first, second = replicas
        collection = knowledge_pb2.Collection(name="looms")
        await first.call("CreateCollection", collection=collection)
        yield first, second


async def requested(site: ModelSite) -> None:
    """Wait until the model has a further request."""
    before = len(site.bodies)
    await until(lambda: len(site.bodies) > before)
