"""Files as records and as messages of the contract."""

from collections import Counter
from collections.abc import Sequence

from google.protobuf.timestamp_pb2 import Timestamp
from heddle.knowledge.v1 import files_pb2 as pb
from heddle.knowledge.v1 import knowledge_pb2
from heddle_runtime.contract.struct_codec import to_struct

from heddle_knowledge.uploads.records import Attachment, Batch, Ingestion


def attached_message(attachment: Attachment, ingestion: Ingestion | None = None) -> pb.AttachedFile:
    """Return a file in a collection as callers see it, with the ingestion that it is in."""
    message = pb.AttachedFile(
        file_id=attachment.file_id,
        collection_id=f"vs_{attachment.collection}",
        document=attachment.document,
        status=pb.AttachmentStatus.Value(f"ATTACHMENT_STATUS_{attachment.state.upper()}"),
        error=attachment.error,
        unreadable=attachment.unreadable,
        attributes=to_struct(attachment.attributes),
        size=attachment.size,
        create_time=timestamp(attachment.created_at),
        filename=attachment.filename,
        media_type=attachment.media_type,
        uri=attachment.reading.uri,
        source=pb.FileSource.Value(f"FILE_SOURCE_{attachment.reading.source.upper()}"),
    )
    if (chunking := attachment.reading.chunking) is not None:
        message.chunking.MergeFrom(
            knowledge_pb2.Chunking(
                target_characters=chunking.target,
                overlap_characters=chunking.overlap,
                parent_characters=chunking.parent,
            )
        )
    began = attachment.started_at or (ingestion.started_at if ingestion else 0)
    if began:
        message.start_time.CopyFrom(timestamp(began))
    if attachment.ended_at:
        message.end_time.CopyFrom(timestamp(attachment.ended_at))
    progress = ingestion.progress if ingestion else None
    if progress is not None and attachment.state == "in_progress":
        message.progress.MergeFrom(
            knowledge_pb2.IngestProgress(
                done=progress.done, total=progress.total, stage=progress.stage
            )
        )
    return message


def batch_message(batch: Batch, files: Sequence[Attachment]) -> pb.FileBatch:
    """Return a batch, whose files are these, as callers see it."""
    count = Counter(each.state for each in files)
    if batch.cancelled:
        status = pb.FILE_BATCH_STATUS_CANCELLED
    elif count["in_progress"]:
        status = pb.FILE_BATCH_STATUS_IN_PROGRESS
    elif files and count["failed"] == len(files):
        status = pb.FILE_BATCH_STATUS_FAILED
    else:
        status = pb.FILE_BATCH_STATUS_COMPLETED
    return pb.FileBatch(
        id=batch.id,
        collection_id=f"vs_{batch.collection}",
        status=status,
        in_progress_count=count["in_progress"],
        completed_count=count["completed"],
        failed_count=count["failed"],
        cancelled_count=count["cancelled"],
        create_time=timestamp(batch.created_at),
    )


def timestamp(microseconds: int) -> Timestamp:
    """Return a time of so many microseconds since 1970."""
    time = Timestamp()
    time.FromMicroseconds(microseconds)
    return time
