"""The documents that the assistants in `examples/assistants` search.

They are uploaded files of the operator, so that users can copy them with an example.
"""

import asyncio
import hashlib
import importlib.util
import shutil
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import grpc
import structlog
from google.protobuf.message import Message
from heddle.knowledge.v1 import files_pb2, files_pb2_grpc, knowledge_pb2, knowledge_pb2_grpc
from heddle_runtime.errors import AlreadyExistsError, from_rpc
from heddle_runtime.identity.call_metadata import calling_as, new_call_options, on_behalf_of
from heddle_runtime.identity.callers import OPERATOR
from heddle_runtime.rpc.client import service_channel
from heddle_tools_service.app import ToolsSettings

COLLECTION = "mercurial-help"
DOCUMENTS = Path("examples/documents")
DOCUMENTS_OF_COLLECTIONS = {
    "course-slides": (
        "statistics-slides.pdf",
        knowledge_pb2.Collection(title="Statistics slides"),
    ),
    "help-desk": (
        "help-desk",
        knowledge_pb2.Collection(
            title="Pages of the library",
            language="und",
            embedding_model="multilingual-e5-small-q4",
        ),
    ),
    "lab-manual": (
        "distillation.pdf",
        knowledge_pb2.Collection(
            title="Manual of the still", page_handling=knowledge_pb2.PAGE_HANDLING_SEARCH
        ),
    ),
}
"""A file or folder of `DOCUMENTS` for each collection, and its settings."""
EXAMPLES_READY = "the documents of the examples are ready"
_MAX_PAGE_BYTES = 16_000  # the reference of all settings alone takes a minute to read
_CALL_SECONDS = 60.0
"""Seconds for a call: the first one may have to load the embedding model."""
_POLL_SECONDS = 0.3
_DOCUMENT_PREFIX = "doc_"
ResponseT = TypeVar("ResponseT")
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Operator:
    """The knowledge service, called as the operator."""

    collections: knowledge_pb2_grpc.KnowledgeServiceAsyncStub
    files: files_pb2_grpc.FileServiceAsyncStub

    async def call(
        self, method: Callable[..., Awaitable[ResponseT]], request: Message
    ) -> ResponseT:
        with calling_as(on_behalf_of(OPERATOR)):
            try:
                return await method(request, **new_call_options(_CALL_SECONDS))
            except grpc.aio.AioRpcError as error:
                raise from_rpc(error) from error

    async def fill(self, collection: knowledge_pb2.Collection, paths: Iterable[Path]) -> None:
        """Fill a collection, which everyone may read, and wait until all files are ingested.

        A file that it has already costs nothing.
        """
        collection.sharing = knowledge_pb2.SHARING_EVERYONE
        request = knowledge_pb2.CreateCollectionRequest(collection=collection)
        with suppress(AlreadyExistsError):
            await self.call(self.collections.CreateCollection, request)
        known = {each.document: each for each in await self._files(collection.name)}
        for path in paths:
            await self._add(collection.name, path, known.get(path.name))
        for each in await self._settled(collection.name):
            if each.status == files_pb2.ATTACHMENT_STATUS_FAILED:
                log.error(
                    "a document is not ingested",
                    collection=collection.name,
                    document=each.document,
                    problem=each.error,
                )

    async def _settled(self, collection: str) -> list[files_pb2.AttachedFile]:
        while True:
            files = await self._files(collection)
            if all(each.status != files_pb2.ATTACHMENT_STATUS_IN_PROGRESS for each in files):
                return files
            await asyncio.sleep(_POLL_SECONDS)

    async def _files(self, collection: str) -> list[files_pb2.AttachedFile]:
        request = files_pb2.ListAttachedFilesRequest(collection=collection, page_size=1_000)
        return list((await self.call(self.files.ListAttachedFiles, request)).files)

    async def _add(self, collection: str, path: Path, known: files_pb2.AttachedFile | None) -> None:
        data = await asyncio.to_thread(path.read_bytes)
        key = f"examples/{collection}/{path.name}/{hashlib.sha256(data).hexdigest()}"
        upload = files_pb2.CreateFileRequest(
            filename=path.name, purpose="assistants", data=data, upload_key=key
        )
        file = (await self.call(self.files.CreateFile, upload)).file
        if known is not None and known.file_id != file.id:
            await self._remove(collection, known)
        elif known is not None and known.status == files_pb2.ATTACHMENT_STATUS_COMPLETED:
            return
        request = files_pb2.AttachFileRequest(collection=collection, file_id=file.id)
        await self.call(self.files.AttachFile, request)

    async def _remove(self, collection: str, known: files_pb2.AttachedFile) -> None:
        """Remove an earlier version of a file, or a document of `heddle ingest`."""
        if known.file_id.startswith(_DOCUMENT_PREFIX):
            document = knowledge_pb2.DeleteDocumentRequest(
                collection=collection, name=known.file_id
            )
            await self.call(self.collections.DeleteDocument, document)
        else:
            request = files_pb2.DetachFileRequest(collection=collection, file_id=known.file_id)
            await self.call(self.files.DetachFile, request)


def manual_folder() -> Path | None:
    """Return the folder of help texts in the Mercurial package, None if it is not installed."""
    spec = importlib.util.find_spec("mercurial")
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / "helptext"


async def prepare(tools: ToolsSettings, knowledge: str) -> None:
    """Fill all collections of the examples, and log when that is done, or why it failed.

    Args:
        tools: The settings of the tools service: the folder of the tool `single_file`, and the
            secret and the files of the services.
        knowledge: The address of the knowledge service.
    """
    ingestions = [ingest_documents(each, tools, knowledge) for each in _collections()]
    try:
        await asyncio.gather(ingest_manual(tools, knowledge), *ingestions)
    except Exception:  # nothing awaits the task that runs this
        log.exception("the documents of the examples are not ready")
    else:
        log.info(EXAMPLES_READY)


def _collections() -> list[str]:
    if not DOCUMENTS.is_dir():
        return []
    collections = set(DOCUMENTS_OF_COLLECTIONS)
    if importlib.util.find_spec("rapidocr") is None:
        collections.remove("lab-manual")
        log.warning("the figure reader has no manual", remedy="Install the packages: make install.")
    return sorted(collections)


async def ingest_documents(name: str, tools: ToolsSettings, knowledge: str) -> None:
    """Fill a collection of `DOCUMENTS_OF_COLLECTIONS`."""
    source, settings = DOCUMENTS_OF_COLLECTIONS[name]
    path = DOCUMENTS / source
    paths = sorted(path.iterdir()) if path.is_dir() else [path]
    collection = knowledge_pb2.Collection(name=name)
    collection.MergeFrom(settings)
    async with _operator(tools, knowledge) as operator:
        await operator.fill(collection, paths)


async def ingest_manual(tools: ToolsSettings, knowledge: str) -> int:
    """Put Mercurial's manual where the examples look for it, and return the number of pages."""
    manual = manual_folder()
    if manual is None:
        log.warning("the examples have no manual", remedy="Install the package mercurial.")
        return 0
    shutil.copytree(manual, tools.files_dir, dirs_exist_ok=True)
    pages = [page for page in manual.glob("*.txt") if page.stat().st_size <= _MAX_PAGE_BYTES]
    collection = knowledge_pb2.Collection(name=COLLECTION, title="Mercurial's help")
    async with _operator(tools, knowledge) as operator:
        await operator.fill(collection, sorted(pages))
    return len(pages)


@asynccontextmanager
async def _operator(tools: ToolsSettings, knowledge: str) -> AsyncGenerator[_Operator]:
    services = (
        knowledge_pb2.DESCRIPTOR.services_by_name["KnowledgeService"],
        files_pb2.DESCRIPTOR.services_by_name["FileService"],
    )
    async with service_channel(tools, knowledge, *services) as channel:
        yield _Operator(
            knowledge_pb2_grpc.KnowledgeServiceStub(channel),
            files_pb2_grpc.FileServiceStub(channel),
        )
