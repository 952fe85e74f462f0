"""RPCs about files that are attached together."""

from heddle.knowledge.v1 import files_pb2 as pb
from heddle_runtime.identity.call_metadata import Context

from heddle_knowledge.audit.recording import content_change
from heddle_knowledge.completed_changes import uninterrupted
from heddle_knowledge.uploads import checks
from heddle_knowledge.uploads.calls import FileCalls, page_of
from heddle_knowledge.uploads.messages import attached_message, batch_message
from heddle_knowledge.uploads.records import BATCH, Batch, new_id, now_microseconds


class FileBatchCalls(FileCalls):
    """The part of the contract about batches of files."""

    @uninterrupted
    async def CreateFileBatch(
        self, request: pb.CreateFileBatchRequest, context: Context
    ) -> pb.CreateFileBatchResponse:
        """Begin to ingest several files into a collection."""
        attributes = checks.batched(request)
        _, collection = await self._changeable(request.collection)
        async with self._ingestion_queue.alone(collection.id):
            attachments = await self._new_attachments(collection, attributes)
            batch = Batch(new_id(BATCH), collection.id, list(attributes), now_microseconds())
            await self._ingestion_queue.attach_all(batch, attachments)
        change = content_change("file.attach", collection, files=" ".join(attributes))
        await self._audit.add(change)
        return pb.CreateFileBatchResponse(batch=await self._message(batch))

    async def GetFileBatch(
        self, request: pb.GetFileBatchRequest, context: Context
    ) -> pb.GetFileBatchResponse:
        """Get a batch."""
        _, collection = await self._readable(request.collection)
        batch = await self._batch(collection.id, request.batch_id)
        return pb.GetFileBatchResponse(batch=await self._message(batch))

    @uninterrupted
    async def CancelFileBatch(
        self, request: pb.CancelFileBatchRequest, context: Context
    ) -> pb.CancelFileBatchResponse:
        """Give up what is not in the collection yet."""
        _, collection = await self._changeable(request.collection)
        batch = await self._batch(collection.id, request.batch_id)
        cancelled = await self._ingestion_queue.cancel(batch)
        if cancelled is not batch:
            change = content_change("file.cancel", collection, files=" ".join(batch.files))
            await self._audit.add(change)
        return pb.CancelFileBatchResponse(batch=await self._message(cancelled))

    async def ListFileBatchFiles(
        self, request: pb.ListFileBatchFilesRequest, context: Context
    ) -> pb.ListFileBatchFilesResponse:
        """List one page of the files of a batch."""
        _, collection = await self._readable(request.collection)
        batch = await self._batch(collection.id, request.batch_id)
        files = await self._attachments.of_batch(batch)
        page, token = page_of(files, request)
        return pb.ListFileBatchFilesResponse(
            files=map(attached_message, page), next_page_token=token
        )

    async def _batch(self, collection: str, identifier: str) -> Batch:
        return await self._attachments.batch(collection, identifier)

    async def _message(self, batch: Batch) -> pb.FileBatch:
        return batch_message(batch, await self._attachments.of_batch(batch))
