"""The RPC that ingests an attached file again."""

import msgspec
from heddle.knowledge.v1 import files_pb2 as pb
from heddle_runtime.identity.call_metadata import Context

from heddle_knowledge.audit.recording import content_change
from heddle_knowledge.completed_changes import uninterrupted
from heddle_knowledge.uploads.calls import FileCalls
from heddle_knowledge.uploads.messages import attached_message


class RetryCalls(FileCalls):
    """The part of the service about ingestions that did not succeed."""

    @uninterrupted
    async def RetryAttachedFile(
        self, request: pb.RetryAttachedFileRequest, context: Context
    ) -> pb.RetryAttachedFileResponse:
        """Begin the ingestion of a file again."""
        _, collection = await self._changeable(request.collection)
        async with self._ingestion_queue.alone(collection.id):
            file = await self._attachments.get(collection.id, request.file_id)
            if file.state not in {"failed", "cancelled"}:
                return pb.RetryAttachedFileResponse(file=attached_message(file))
            again = msgspec.structs.replace(
                file, state="in_progress", error="", unreadable=False, started_at=0, ended_at=0
            )
            await self._ingestion_queue.attach(again)
        change = content_change("file.attach", collection, file=request.file_id)
        await self._audit.add(change)
        return pb.RetryAttachedFileResponse(file=attached_message(again))
