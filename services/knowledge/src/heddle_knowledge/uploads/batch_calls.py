"""Calls about files that are attached together."""

import asyncio

from heddle.knowledge.v1 import files_pb2 as pb
from heddle_runtime.paging import page
from heddle_runtime.server_interceptor import Context

from heddle_knowledge.service.failures import known_failures
from heddle_knowledge.uploads import checks
from heddle_knowledge.uploads.calls import (
    DEFAULT_PAGE,
    MOST,
    Calls,
    attachment_of,
    now,
    person,
    place,
)
from heddle_knowledge.uploads.messages import attached_message, batch_message
from heddle_knowledge.uploads.records import Batch, Upload, new_batch_id


class FileBatchCalls(Calls):
    """The part of the contract about batches of files."""

    async def CreateFileBatch(
        self, request: pb.CreateFileBatchRequest, context: Context
    ) -> pb.CreateFileBatchResponse:
        """Begin to bring several files into a collection."""
        noted = checks.batched(request)
        with known_failures():
            collection = await self._collection(request.collection, changing=True)
            uploads = await asyncio.to_thread(self._uploads_of, person(), list(noted))
            begun = now()
            batch = Batch(new_batch_id(), collection.id, list(noted), begun)
            async with self._naming(collection):
                documents = await self._documents(collection, uploads)
                attachments = [
                    attachment_of(upload, collection, document, noted[upload.id], begun + index)
                    for index, (upload, document) in enumerate(zip(uploads, documents, strict=True))
                ]
                await self._ingestion_queue.attach_all(batch, attachments)
            return pb.CreateFileBatchResponse(batch=await self._told(batch))

    async def GetFileBatch(
        self, request: pb.GetFileBatchRequest, context: Context
    ) -> pb.GetFileBatchResponse:
        """Get a batch."""
        with known_failures():
            collection = await self._collection(request.collection)
            batch = await self._batch(collection.id, request.batch_id)
            return pb.GetFileBatchResponse(batch=await self._told(batch))

    async def CancelFileBatch(
        self, request: pb.CancelFileBatchRequest, context: Context
    ) -> pb.CancelFileBatchResponse:
        """Give up what is not in the collection yet."""
        with known_failures():
            collection = await self._collection(request.collection, changing=True)
            batch = await self._batch(collection.id, request.batch_id)
            cancelled = await self._ingestion_queue.cancel(batch)
            return pb.CancelFileBatchResponse(batch=await self._told(cancelled))

    async def ListFileBatchFiles(
        self, request: pb.ListFileBatchFilesRequest, context: Context
    ) -> pb.ListFileBatchFilesResponse:
        """List one page of the files of a batch."""
        with known_failures():
            collection = await self._collection(request.collection)
            batch = await self._batch(collection.id, request.batch_id)
            every = await asyncio.to_thread(self._ingestion_queue.of_batch, batch)
        page_items, token = page(
            every,
            lambda each: place(each.created_at, each.file_id),
            request.page_size,
            request.page_token,
            default=DEFAULT_PAGE,
            maximum=MOST,
        )
        return pb.ListFileBatchFilesResponse(
            files=[attached_message(each) for each in page_items], next_page_token=token
        )

    async def _batch(self, collection: str, identifier: str) -> Batch:
        return await asyncio.to_thread(self._ingestion_queue.batches.get, collection, identifier)

    async def _told(self, batch: Batch) -> pb.FileBatch:
        return batch_message(batch, await asyncio.to_thread(self._ingestion_queue.of_batch, batch))

    def _uploads_of(self, owner: str, identifiers: list[str]) -> list[Upload]:
        return [self._uploads.get(owner, each) for each in identifiers]
