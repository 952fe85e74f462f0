"""The routes of `/v1/batches`."""

import asyncio
import time
from typing import Annotated, Any, Literal

import msgspec
from heddle.conversation.v1 import batches_pb2 as pb
from heddle.knowledge.v1 import files_pb2
from pydantic import Field

from heddle_gateway.http.error_responses import invalid
from heddle_gateway.http.models import Model, Seconds, identifier
from heddle_gateway.openai.batches.worker import Endpoint, read_lines
from heddle_gateway.openai.chat.run_events import new_id
from heddle_gateway.openai.files import FileId
from heddle_gateway.openai.pagination import Page
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import call

DAY = 86_400
BatchId = Annotated[str, identifier("The batch's identifier.", "batch_1")]
routes = Routes("batches")


class NewBatch(Model):
    """A batch of requests."""

    input_file_id: FileId
    endpoint: Endpoint
    completion_window: Literal["24h"]
    metadata: Annotated[dict[str, str], Field(max_length=16)] | None = None
    output_expires_after: Any = Field(default=None, description="Not supported: files stay.")


class Batch(Model):
    """A batch and its status. The times are those at which it got the statuses."""

    id: str
    object: Literal["batch"] = "batch"
    endpoint: str
    input_file_id: str
    completion_window: str
    status: str
    metadata: dict[str, str] | None
    errors: dict[str, Any] | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None
    created_at: Seconds
    expires_at: int | None = None
    in_progress_at: int | None = None
    finalizing_at: int | None = None
    completed_at: int | None = None
    failed_at: int | None = None
    expired_at: int | None = None
    cancelling_at: int | None = None
    cancelled_at: int | None = None
    request_counts: dict[Literal["total", "completed", "failed"], int]


class BatchPage(Page):
    """A page of batches."""

    data: list[Batch]


class BatchQuery(Model):
    """The query of the list of batches."""

    limit: int = Field(default=20, ge=1, le=100, description="The maximum number of batches.")
    after: str = Field(default="", description="The batch before the page.", examples=[""])


@routes.post("/v1/batches", errors=(404, 501))
async def create(api: Call, body: NewBatch) -> Batch:
    """Answer the requests of a file of JSON lines, within a day.

    Each line has `custom_id`, `method`, `url` and `body`; all have the batch's endpoint as `url`.
    The results are files of JSON lines: `output_file_id` of those that were answered,
    `error_file_id` of the others. A batch with an invalid line fails at once. It has at most 10,000
    lines, and a caller at most ten batches that have not ended.
    """
    if body.output_expires_after is not None:
        reason = "is not supported: files stay until they are deleted"
        raise invalid("output_expires_after", reason)
    request = files_pb2.GetFileContentRequest(id=body.input_file_id)
    content = (await call(api.services.files.GetFileContent, request)).data
    lines, faults = await asyncio.to_thread(read_lines, content, body.endpoint)
    now = int(time.time())
    document: dict[str, Any] = {
        **body.model_dump(exclude={"output_expires_after"}),
        "expires_at": now + DAY,
        "failed_at" if faults else "in_progress_at": now,
    }
    if faults:
        document["errors"] = {"object": "list", "data": faults}
    batch = pb.Batch(
        id=new_id("batch"),
        document_json=msgspec.json.encode(document).decode(),
        status="failed" if faults else "in_progress",
        line_count=0 if faults else len(lines),
    )
    created = await call(api.services.batches.CreateBatch, pb.CreateBatchRequest(batch=batch))
    api.state.work.set()
    return _view(created.batch)


@routes.get("/v1/batches", errors=(400, 404))
async def list_batches(api: Call, query: BatchQuery) -> BatchPage:
    """List the caller's batches, the newest first."""
    request = pb.ListBatchesRequest(after=query.after, limit=query.limit)
    listed = await call(api.services.batches.ListBatches, request)
    return BatchPage(data=[_view(each) for each in listed.batches], has_more=listed.has_more)


@routes.get("/v1/batches/{id}", errors=(404,))
async def get(api: Call, id_: BatchId) -> Batch:
    """Get a batch."""
    return _view((await call(api.services.batches.GetBatch, pb.GetBatchRequest(id=id_))).batch)


@routes.post("/v1/batches/{id}/cancel", errors=(404,))
async def cancel(api: Call, id_: BatchId) -> Batch:
    """Let a batch end with the results that it has."""
    request = pb.CancelBatchRequest(id=id_)
    cancelled = await call(api.services.batches.CancelBatch, request)
    api.state.work.set()
    return _view(cancelled.batch)


def _view(batch: pb.Batch) -> Batch:
    return Batch(
        **msgspec.json.decode(batch.document_json),
        id=batch.id,
        status=batch.status,
        created_at=batch.create_time.seconds,
        request_counts={
            "total": batch.line_count,
            "completed": batch.completed_count,
            "failed": batch.failed_count,
        },
    )
