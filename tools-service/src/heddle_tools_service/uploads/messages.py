"""Files as records and as messages of the contract."""

from google.protobuf.timestamp_pb2 import Timestamp
from heddle.knowledge.v1 import files_pb2 as pb
from heddle_runtime.structs import to_struct

from heddle_tools_service.uploads.records import Attachment, State, Upload

_STATES: dict[State, pb.AttachmentStatus.ValueType] = {
    "in_progress": pb.ATTACHMENT_STATUS_IN_PROGRESS,
    "completed": pb.ATTACHMENT_STATUS_COMPLETED,
    "failed": pb.ATTACHMENT_STATUS_FAILED,
}


def file_message(upload: Upload) -> pb.File:
    """Return an uploaded file as its owner sees it."""
    return pb.File(
        id=upload.id,
        filename=upload.filename,
        purpose=upload.purpose,
        media_type=upload.media_type,
        size=upload.size,
        create_time=_time(upload.created_at),
    )


def attached_message(attachment: Attachment) -> pb.AttachedFile:
    """Return a file in a collection as callers see it."""
    return pb.AttachedFile(
        file_id=attachment.file_id,
        collection_id=f"vs_{attachment.collection}",
        document=attachment.document,
        status=_STATES[attachment.state],
        error=attachment.error,
        unreadable=attachment.unreadable,
        attributes=to_struct(attachment.attributes),
        size=attachment.size,
        create_time=_time(attachment.created_at),
        filename=attachment.filename,
    )


def _time(microseconds: int) -> Timestamp:
    told = Timestamp()
    told.FromMicroseconds(microseconds)
    return told
