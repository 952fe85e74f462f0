"""The times, statistics and errors of LAMB's ingestion jobs."""

from typing import Any

from heddle.knowledge.v1 import files_pb2 as pb
from heddle.knowledge.v1 import knowledge_pb2
from heddle_gateway.http.models import Model
from pydantic import Field

_MILLISECONDS = 1_000


class ErrorDetails(Model):
    """Why an ingestion has failed."""

    message: str
    retry_may_help: bool = Field(description="False if the content of the file is the reason.")


class ChunkStats(Model):
    """The passages of a file."""

    count: int


class StageTiming(Model):
    """How long a stage has taken."""

    stage: str
    duration_ms: int


class ProcessingStats(Model):
    """What an ingestion has yielded."""

    content_length: int = Field(description="Bytes of the file.")
    page_count: int
    chunk_stats: ChunkStats
    stage_timings: list[StageTiming] = Field(description="The ingestion as a whole.")


def details(file: pb.AttachedFile, document: knowledge_pb2.Document) -> dict[str, Any]:
    """Return members of the job of a file, whose document may be an empty one."""
    began, ended = file.HasField("start_time"), file.HasField("end_time")
    latest = file.end_time if ended else file.start_time if began else file.create_time
    seconds: float | None = None
    if began and ended:
        microseconds = file.end_time.ToMicroseconds() - file.start_time.ToMicroseconds()
        seconds = max(0, microseconds) / 1e6
    return {
        "updated_at": latest.ToJsonString(),
        "processing_started_at": file.start_time.ToJsonString() if began else None,
        "processing_completed_at": file.end_time.ToJsonString() if ended else None,
        "processing_duration_seconds": seconds,
        "error_details": _error(file),
        "processing_stats": _stats(document, seconds),
    }


def _error(file: pb.AttachedFile) -> ErrorDetails | None:
    if file.status != pb.ATTACHMENT_STATUS_FAILED:
        return None
    return ErrorDetails(message=file.error, retry_may_help=not file.unreadable)


def _stats(document: knowledge_pb2.Document, seconds: float | None) -> ProcessingStats | None:
    if not document.id:
        return None
    timings = []
    if seconds is not None:
        timings.append(StageTiming(stage="ingestion", duration_ms=int(seconds * _MILLISECONDS)))
    return ProcessingStats(
        content_length=document.size,
        page_count=document.page_count,
        chunk_stats=ChunkStats(count=document.passage_count),
        stage_timings=timings,
    )
