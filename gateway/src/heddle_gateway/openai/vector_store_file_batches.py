"""`/v1/vector_stores/{id}/file_batches`: adding several files to a vector store."""

from typing import Annotated, Literal

from heddle.knowledge.v1 import files_pb2
from heddle.knowledge.v1.knowledge_pb2 import Collection
from heddle_runtime.contract.enums import enum_names
from pydantic import Field

from heddle_gateway.http.error_responses import invalid
from heddle_gateway.http.models import Identifier, Seconds, StrictModel
from heddle_gateway.openai.chunking import ChunkingStrategy
from heddle_gateway.openai.vector_store_files import (
    Attributes,
    VectorStoreFilePage,
    VectorStoreFileQuery,
    check_chunking,
    page_of,
    to_attributes,
)
from heddle_gateway.openai.vector_stores import (
    FileCounts,
    Status,
    VectorStoreId,
    get_collection,
)
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import call, items

MAX_FILES = 2_000
_STATUSES = enum_names(files_pb2.FileBatchStatus.DESCRIPTOR)
BatchId = Annotated[
    str, Field(description="The batch's identifier.", pattern="^vsfb_[0-9a-f]{32}$")
]
routes = Routes("vector stores")


class BatchFile(StrictModel):
    """A file of a batch."""

    file_id: Identifier
    attributes: Attributes = None
    chunking_strategy: ChunkingStrategy = None


class NewBatch(StrictModel):
    """Either `file_ids`, with the same attributes for all, or `files`, each with its own."""

    file_ids: Annotated[list[Identifier], Field(min_length=1, max_length=MAX_FILES)] | None = None
    files: Annotated[list[BatchFile], Field(min_length=1, max_length=MAX_FILES)] | None = None
    attributes: Attributes = None
    chunking_strategy: ChunkingStrategy = None


class Batch(StrictModel):
    """A batch and its status."""

    id: str
    object: Literal["vector_store.files_batch"] = "vector_store.files_batch"
    created_at: Seconds
    vector_store_id: str
    status: Status
    file_counts: FileCounts


@routes.post("/v1/vector_stores/{id}/file_batches", errors=(404,))
async def create(api: Call, id_: VectorStoreId, body: NewBatch) -> Batch:
    """Add several files to a vector store, in the background.

    If one of them cannot be added, none is.
    """
    if (body.file_ids is None) == (body.files is None):
        raise invalid("file_ids", "or files must be set, and not both")
    store = await get_collection(api.services, id_)
    request = files_pb2.CreateFileBatchRequest(collection=store.id, files=_files(body, store))
    response = await call(api.services.files.CreateFileBatch, request)
    return _view(response.batch)


@routes.get("/v1/vector_stores/{id}/file_batches/{batch}", errors=(400, 404))
async def get(api: Call, id_: VectorStoreId, batch: BatchId) -> Batch:
    """Get the status of a batch of files."""
    request = files_pb2.GetFileBatchRequest(collection=id_, batch_id=batch)
    response = await call(api.services.files.GetFileBatch, request)
    return _view(response.batch)


@routes.post("/v1/vector_stores/{id}/file_batches/{batch}/cancel", errors=(400, 404))
async def cancel(api: Call, id_: VectorStoreId, batch: BatchId) -> Batch:
    """Cancel the files of a batch that are not in the vector store yet."""
    request = files_pb2.CancelFileBatchRequest(collection=id_, batch_id=batch)
    response = await call(api.services.files.CancelFileBatch, request)
    return _view(response.batch)


@routes.get("/v1/vector_stores/{id}/file_batches/{batch}/files", errors=(400, 404))
async def list_batch_files(
    api: Call, id_: VectorStoreId, batch: BatchId, query: VectorStoreFileQuery
) -> VectorStoreFilePage:
    """List the files of a batch, the newest first."""
    store = await get_collection(api.services, id_)
    request = files_pb2.ListFileBatchFilesRequest(collection=store.id, batch_id=batch)
    files = await items(api.services.files.ListFileBatchFiles, request, "files")
    return page_of(query, files, store)


def _files(body: NewBatch, store: Collection) -> list[files_pb2.BatchedFile]:
    check_chunking(body.chunking_strategy, store)
    files = body.files
    if files is None:
        files = [
            BatchFile(file_id=each, attributes=body.attributes) for each in body.file_ids or []
        ]
    for index, each in enumerate(files):
        check_chunking(each.chunking_strategy, store, f"files[{index}].")
    return [
        files_pb2.BatchedFile(file_id=each.file_id, attributes=to_attributes(each.attributes))
        for each in files
    ]


def _view(batch: files_pb2.FileBatch) -> Batch:
    names = ("in_progress", "completed", "failed", "cancelled")
    counts = {name: getattr(batch, f"{name}_count") for name in names}
    return Batch(
        id=batch.id,
        created_at=batch.create_time.seconds,
        vector_store_id=batch.collection_id,
        status=_STATUSES.get(batch.status, "failed"),
        file_counts=FileCounts(**counts, total=sum(counts.values())),
    )
