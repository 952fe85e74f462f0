"""`/collections/{id}/ingestion-jobs`: the ingestion of each file, in the form of LAMB's server."""

import asyncio
from collections import Counter
from typing import Any, Literal, get_args

from heddle.knowledge.v1 import files_pb2 as pb
from heddle.knowledge.v1 import knowledge_pb2
from heddle_gateway.http.models import Model
from heddle_gateway.openai.vector_stores import attached_files, status
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import ServiceClients, call
from heddle_runtime.errors import InvalidRequestError, NotFoundError, PermissionDeniedError
from pydantic import Field

from heddle_migration_service.knowledge_server.collection_owners import OWNER
from heddle_migration_service.knowledge_server.job_details import (
    ErrorDetails,
    ProcessingStats,
    details,
)
from heddle_migration_service.knowledge_server.knowledge_base_files import (
    file_address,
    parameters_of,
    plugin_of,
    shown_name,
)
from heddle_migration_service.knowledge_server.knowledge_bases import TAG
from heddle_migration_service.knowledge_server.numbers import (
    CollectionId,
    FileNumber,
    get_collection,
    get_file,
    number_in_lamb,
    number_of,
)

JobStatus = Literal["pending", "processing", "completed", "failed", "cancelled", "deleted"]
_STATUSES: tuple[JobStatus, ...] = get_args(JobStatus)
_RECENT = 5
routes = Routes(TAG)


class Progress(Model):
    """How far the current stage of a job is."""

    current: int
    total: int
    percentage: float
    message: str = Field(description="The stage, for example `embedding` or `drawing`.")


class IngestionJob(Model):
    """The ingestion of a file, which has the number of the file."""

    id: int
    job_id: int
    collection_id: int
    collection_name: str
    original_filename: str
    file_path: str = ""
    file_url: str
    file_size: int
    content_type: str | None
    plugin_name: str
    plugin_params: dict[str, Any] = Field(default={})
    status: JobStatus
    document_count: int = Field(description="The number of passages; 0 until it is completed.")
    created_at: str = Field(json_schema_extra={"format": "date-time"})
    updated_at: str = Field(json_schema_extra={"format": "date-time"})
    processing_started_at: str | None = Field(json_schema_extra={"format": "date-time"})
    processing_completed_at: str | None = Field(json_schema_extra={"format": "date-time"})
    processing_duration_seconds: float | None
    progress: Progress | None = Field(
        description="Null before the ingestion begins, after it has ended, and if another replica "
        "of the knowledge service ingests the file."
    )
    error_message: str | None
    error_details: ErrorDetails | None
    processing_stats: ProcessingStats | None
    owner: str


class IngestionJobList(Model):
    """A part of the jobs."""

    total: int
    items: list[IngestionJob]
    limit: int
    offset: int
    has_more: bool


class JobQuery(Model):
    """The query of the list of jobs."""

    status: JobStatus | None = Field(default=None, description="Only jobs with this status.")
    limit: int = Field(default=50, ge=1, le=200, description="The maximum number of items.")
    offset: int = Field(default=0, ge=0, le=10**9, description="The number of skipped items.")
    sort_by: Literal["created_at", "status", "original_filename", "file_size"] = Field(
        default="created_at", description="The order."
    )
    sort_order: Literal["asc", "desc"] = Field(default="desc", description="Its direction.")


class StatusCounts(Model):
    """Numbers of jobs by status."""

    pending: int
    processing: int
    completed: int
    failed: int
    cancelled: int
    deleted: int = Field(default=0, description="Always 0: a deleted file has no job.")


class IngestionStatus(Model):
    """The jobs of a collection in numbers."""

    collection_id: int
    collection_name: str
    total_jobs: int
    by_status: StatusCounts
    currently_processing: int
    recent_failures: list[IngestionJob] = Field(description="At most five, the newest first.")
    oldest_processing_job: IngestionJob | None


@routes.get("/collections/{id}/ingestion-jobs", errors=(400, 404))
async def list_jobs(api: Call, id_: CollectionId, query: JobQuery) -> IngestionJobList:
    """List the jobs of a collection."""
    collection = await get_collection(api.services, id_)
    files = await attached_files(api.services, collection.id)
    matching = [each for each in files if query.status in (None, _status(each))]
    keys = {
        "created_at": lambda each: each.create_time.ToMicroseconds(),
        "status": _status,
        "original_filename": lambda each: each.filename,
        "file_size": lambda each: each.size,
    }
    matching.sort(key=keys[query.sort_by], reverse=query.sort_order == "desc")
    chosen = matching[query.offset : query.offset + query.limit]
    return IngestionJobList(
        total=len(matching),
        items=await _jobs(api.services, collection, chosen),
        limit=query.limit,
        offset=query.offset,
        has_more=query.offset + len(chosen) < len(matching),
    )


@routes.get("/collections/{id}/ingestion-status", errors=(400, 404))
async def summarize(api: Call, id_: CollectionId) -> IngestionStatus:
    """Count the jobs of a collection by status."""
    collection = await get_collection(api.services, id_)
    files = await attached_files(api.services, collection.id)
    counts = Counter(map(_status, files))
    failures = [each for each in reversed(files) if _status(each) == "failed"][:_RECENT]
    processing = [each for each in files if _status(each) == "processing"][:1]
    oldest = await _jobs(api.services, collection, processing)
    return IngestionStatus(
        collection_id=number_in_lamb(collection),
        collection_name=collection.title or collection.name,
        total_jobs=len(files),
        by_status=StatusCounts(**{each: counts[each] for each in _STATUSES}),
        currently_processing=counts["processing"],
        recent_failures=await _jobs(api.services, collection, failures),
        oldest_processing_job=oldest[0] if oldest else None,
    )


@routes.get("/collections/{id}/ingestion-jobs/{file}", errors=(400, 404))
async def get(api: Call, id_: CollectionId, file: FileNumber) -> IngestionJob:
    """Get a job."""
    collection = await get_collection(api.services, id_)
    attached = await get_file(api.services, collection.id, file)
    return await _job(api.services, collection, attached)


@routes.post("/collections/{id}/ingestion-jobs/{file}/retry", errors=(400, 403, 404))
async def retry(api: Call, id_: CollectionId, file: FileNumber) -> IngestionJob:
    """Ingest a file again whose ingestion has failed, also one of another user.

    A body is ignored.
    """
    collection = await _changeable(api, id_)
    attached = await get_file(api.services, collection.id, file)
    _require(attached, "failed")
    request = pb.RetryAttachedFileRequest(collection=collection.id, file_id=attached.file_id)
    response = await call(api.services.files.RetryAttachedFile, request)
    return await _job(api.services, collection, response.file)


@routes.post("/collections/{id}/ingestion-jobs/{file}/cancel", errors=(400, 403, 404))
async def cancel(api: Call, id_: CollectionId, file: FileNumber) -> IngestionJob:
    """Cancel a job that has not ended. If the file is in the collection already, it stays."""
    collection = await _changeable(api, id_)
    attached = await get_file(api.services, collection.id, file)
    _require(attached, "pending", "processing")
    request = pb.CancelAttachedFileRequest(collection=collection.id, file_id=attached.file_id)
    response = await call(api.services.files.CancelAttachedFile, request)
    return await _job(api.services, collection, response.file)


async def _changeable(api: Call, reference: str) -> knowledge_pb2.Collection:
    collection = await get_collection(api.services, reference)
    if not collection.changeable:
        raise PermissionDeniedError("The collection is shared for reading.")
    return collection


async def _jobs(
    services: ServiceClients,
    collection: knowledge_pb2.Collection,
    files: list[pb.AttachedFile],
) -> list[IngestionJob]:
    return list(await asyncio.gather(*(_job(services, collection, each) for each in files)))


async def _job(
    services: ServiceClients, collection: knowledge_pb2.Collection, file: pb.AttachedFile
) -> IngestionJob:
    done, total = file.progress.done, file.progress.total
    progress = Progress(
        current=done,
        total=total,
        percentage=100.0 * done / total if total else 0.0,
        message=file.progress.stage,
    )
    document = await _document(services, file)
    return IngestionJob(
        id=number_of(file.file_id),
        job_id=number_of(file.file_id),
        collection_id=number_in_lamb(collection),
        collection_name=collection.title or collection.name,
        original_filename=shown_name(file),
        file_url=file_address(collection, file),
        file_size=file.size,
        plugin_name=plugin_of(file),
        plugin_params=parameters_of(file),
        status=_status(file),
        document_count=document.passage_count,
        content_type=file.media_type or None,
        created_at=file.create_time.ToJsonString(),
        progress=progress if file.HasField("progress") else None,
        error_message=file.error or None,
        **details(file, document),
        owner=collection.metadata.get(OWNER, collection.owner),
    )


async def _document(services: ServiceClients, file: pb.AttachedFile) -> knowledge_pb2.Document:
    """Return the document of a file; an empty one before the file is in the collection."""
    if file.status != pb.ATTACHMENT_STATUS_COMPLETED:
        return knowledge_pb2.Document()
    request = knowledge_pb2.GetDocumentRequest(collection=file.collection_id, name=file.document)
    try:
        response = await call(services.knowledge.GetDocument, request)
    except NotFoundError:  # deleted meanwhile
        return knowledge_pb2.Document()
    return response.document


def _status(file: pb.AttachedFile) -> JobStatus:
    state = status(file)
    if state == "in_progress":
        return "processing" if file.HasField("progress") else "pending"
    return state


def _require(file: pb.AttachedFile, *states: JobStatus) -> None:
    state = _status(file)
    if state not in states:
        raise InvalidRequestError(
            f"The job has the status {state!r}. It must have the status {' or '.join(states)}."
        )
