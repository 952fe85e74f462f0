"""`/v1/vector_stores`: collections of the knowledge service, in OpenAI's form."""

import asyncio
import re
import secrets
from typing import Annotated, Literal

from heddle.knowledge.v1 import files_pb2, knowledge_pb2
from heddle_runtime.errors import AlreadyExistsError, NotFoundError
from pydantic import Field

from heddle_gateway.http.models import Deleted, StrictModel
from heddle_gateway.openai.chunking import ChunkingStrategy, to_chunking
from heddle_gateway.openai.files import TIMEOUT
from heddle_gateway.openai.pagination import Page, PageQuery, bounds, select
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import call, pages
from heddle_gateway.state import State

MAX_FILES = 100
"""Files that a new store can have."""
_PAGE_SIZE = 200
_FILES_PAGE_SIZE = 1_000
_MAX_NAME = 48
Status = Literal["in_progress", "completed", "failed", "cancelled"]
_STATUSES: dict[files_pb2.AttachmentStatus.ValueType, Status] = {
    files_pb2.ATTACHMENT_STATUS_IN_PROGRESS: "in_progress",
    files_pb2.ATTACHMENT_STATUS_COMPLETED: "completed",
    files_pb2.ATTACHMENT_STATUS_FAILED: "failed",
    files_pb2.ATTACHMENT_STATUS_CANCELLED: "cancelled",
}
VectorStoreId = Annotated[
    str,
    Field(
        description="The vector store's identifier, or the name of the collection.",
        min_length=1,
        pattern="^[A-Za-z0-9_-]+$",
    ),
]
_Title = Annotated[str, Field(max_length=300)] | None
_Metadata = (
    Annotated[
        dict[
            Annotated[str, Field(min_length=1, max_length=64)],
            Annotated[str, Field(max_length=512)],
        ],
        Field(max_length=16),
    ]
    | None
)
_Language = Annotated[
    str | None,
    Field(
        description="An extension of OpenAI's form: the language of the files for full-text "
        "search, as `sv` or `pt-BR`, English by default. The error for an unsupported language "
        "lists the supported ones."
    ),
]
_Never = Annotated[None, Field(description="Not supported: stores stay until they are deleted.")]
routes = Routes("vector stores")


class VectorStoreUpdate(StrictModel):
    """Changes of a vector store."""

    name: _Title = None
    metadata: _Metadata = None
    expires_after: _Never = None
    language: _Language = None


class NewVectorStore(VectorStoreUpdate):
    """A new vector store."""

    file_ids: Annotated[list[str], Field(max_length=MAX_FILES)] | None = None
    chunking_strategy: ChunkingStrategy = None


class FileCounts(StrictModel):
    """Numbers of files by status."""

    in_progress: int
    completed: int
    failed: int
    cancelled: int
    total: int


class VectorStore(StrictModel):
    """A vector store."""

    id: str
    object: Literal["vector_store"] = "vector_store"
    created_at: int = Field(description="Seconds since 1970.")
    name: str
    usage_bytes: int = Field(description="Bytes of the files.")
    file_counts: FileCounts
    status: Literal["in_progress", "completed"]
    expires_after: None = None
    expires_at: None = None
    last_active_at: None = None
    metadata: dict[str, str]
    language: str = Field(description="The language for full-text search.")


class VectorStorePage(Page):
    """A page of vector stores."""

    data: list[VectorStore]


class DeletedVectorStore(Deleted):
    """The vector store is deleted."""

    object: Literal["vector_store.deleted"] = "vector_store.deleted"


@routes.get("/v1/vector_stores", errors=(400,))
async def list_stores(api: Call, query: PageQuery) -> VectorStorePage:
    """List the vector stores that the caller may read, the newest first."""
    stores = await collections(api.state)
    stores.sort(key=lambda each: (each.create_time.ToMicroseconds(), each.id))
    selected, has_more = select(query, stores)
    views = await asyncio.gather(*(_view_if_exists(api.state, each) for each in selected))
    data = [view for view in views if view is not None]
    return VectorStorePage(data=data, has_more=has_more, **bounds(data))


@routes.post("/v1/vector_stores", errors=(404,))
async def create(api: Call, body: NewVectorStore) -> VectorStore:
    """Create a vector store, a collection of the knowledge service.

    Assistants refer to it by its identifier. The files of `file_ids` are added in the background.
    """
    title = body.name or ""
    collection = knowledge_pb2.Collection(
        title=title,
        metadata=body.metadata or {},
        chunking=to_chunking(body.chunking_strategy),
        language=body.language or "",
    )
    identifiers = body.file_ids or []
    for identifier in identifiers:  # before anything is created
        request = files_pb2.GetFileRequest(id=identifier)
        await call(api.state.services.files.GetFile, request, TIMEOUT)
    store = await create_collection(api.state, collection, title)
    for identifier in identifiers:
        attach = files_pb2.AttachFileRequest(collection=store.id, file_id=identifier)
        await call(api.state.services.files.AttachFile, attach, TIMEOUT)
    return await _view(api.state, store)


@routes.get("/v1/vector_stores/{id}", errors=(400, 404))
async def get(api: Call, id_: VectorStoreId) -> VectorStore:
    """Get a vector store."""
    return await _view(api.state, await get_collection(api.state, id_))


@routes.post("/v1/vector_stores/{id}", errors=(404,))
async def update(api: Call, id_: VectorStoreId, body: VectorStoreUpdate) -> VectorStore:
    """Change a vector store's name, its metadata or its language."""
    request = knowledge_pb2.UpdateCollectionRequest(name=id_, language=body.language or "")
    if body.name is not None:
        request.title = body.name
    if body.metadata is not None:
        request.metadata.SetInParent()
        request.metadata.entries.update(body.metadata)
    response = await call(api.state.services.knowledge.UpdateCollection, request, TIMEOUT)
    return await _view(api.state, response.collection)


@routes.delete("/v1/vector_stores/{id}", errors=(400, 404))
async def delete(api: Call, id_: VectorStoreId) -> DeletedVectorStore:
    """Delete a vector store with its content. The files stay."""
    request = knowledge_pb2.DeleteCollectionRequest(name=id_)
    await call(api.state.services.knowledge.DeleteCollection, request, TIMEOUT)
    return DeletedVectorStore(id=id_)


async def create_collection(
    state: State, collection: knowledge_pb2.Collection, title: str
) -> knowledge_pb2.Collection:
    """Create a collection with a name similar to its title that is unique in the organisation.

    Raises:
        HeddleError: It cannot be created.
    """
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", title).strip("_.-")[:_MAX_NAME]
    collection.name = plain or f"vector-store-{secrets.token_hex(4)}"
    request = knowledge_pb2.CreateCollectionRequest(collection=collection)
    method = state.services.knowledge.CreateCollection
    try:
        return (await call(method, request, TIMEOUT)).collection
    except AlreadyExistsError:
        request.collection.name = f"{collection.name}-{secrets.token_hex(4)}"
        return (await call(method, request, TIMEOUT)).collection


async def get_collection(state: State, name: str) -> knowledge_pb2.Collection:
    """Return a collection.

    Raises:
        HeddleError: It is not available to the caller.
    """
    request = knowledge_pb2.GetCollectionRequest(name=name)
    return (await call(state.services.knowledge.GetCollection, request, TIMEOUT)).collection


async def collections(state: State) -> list[knowledge_pb2.Collection]:
    """Return all collections that the caller may read.

    Raises:
        HeddleError: They are not available.
    """
    request = knowledge_pb2.ListCollectionsRequest(page_size=_PAGE_SIZE)
    return [
        each
        async for page in pages(state.services.knowledge.ListCollections, request, TIMEOUT)
        for each in page.collections
    ]


async def attached_files(state: State, collection: str) -> list[files_pb2.AttachedFile]:
    """Return the files of a collection, the oldest first.

    Raises:
        HeddleError: They are not available.
    """
    request = files_pb2.ListAttachedFilesRequest(collection=collection, page_size=_FILES_PAGE_SIZE)
    return [
        each
        async for page in pages(state.services.files.ListAttachedFiles, request, TIMEOUT)
        for each in page.files
    ]


def status(file: files_pb2.AttachedFile) -> Status:
    """Return the status of a file in OpenAI's form."""
    return _STATUSES.get(file.status, "failed")


async def _view_if_exists(state: State, collection: knowledge_pb2.Collection) -> VectorStore | None:
    try:
        return await _view(state, collection)
    except NotFoundError:  # deleted since it was listed
        return None


async def _view(state: State, collection: knowledge_pb2.Collection) -> VectorStore:
    files = await attached_files(state, collection.id)
    states = [status(each) for each in files]
    counts = {name: states.count(name) for name in _STATUSES.values()}
    return VectorStore(
        id=collection.id,
        created_at=collection.create_time.seconds,
        name=collection.title or collection.name,
        usage_bytes=sum(each.size for each in files),
        file_counts=FileCounts(**counts, total=len(files)),
        status="in_progress" if counts["in_progress"] else "completed",
        metadata=dict(collection.metadata),
        language=collection.language,
    )
