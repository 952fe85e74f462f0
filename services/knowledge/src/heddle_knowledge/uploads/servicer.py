"""`heddle.knowledge.v1.FileService`."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec
from heddle.knowledge.v1 import files_pb2 as pb
from heddle.knowledge.v1 import files_pb2_grpc as pb_grpc
from heddle_runtime.contract.audit import Change
from heddle_runtime.errors import NotFoundError
from heddle_runtime.identity.call_metadata import Context, caller
from heddle_runtime.identity.callers import home

from heddle_knowledge.audit.recording import content_change
from heddle_knowledge.collection.access import caller_of
from heddle_knowledge.completed_changes import uninterrupted
from heddle_knowledge.uploads import checks
from heddle_knowledge.uploads.calls import FileCalls, page_of, person
from heddle_knowledge.uploads.file_texts import length_of
from heddle_knowledge.uploads.listing import counts, ingested, list_attachments
from heddle_knowledge.uploads.messages import attached_message, batch_message, timestamp
from heddle_knowledge.uploads.readings import reading_of
from heddle_knowledge.uploads.records import BATCH, Attachment, Batch, new_id, now_microseconds


class FileServicer(FileCalls, pb_grpc.FileServiceServicer):
    """Translates between the contract and the folders, each caller in his own."""

    @uninterrupted
    async def CreateFile(
        self, request: pb.CreateFileRequest, context: Context
    ) -> pb.CreateFileResponse:
        """Store a file of the caller."""
        owner, filename = person(), checks.filename(request)
        identifier = checks.upload_id(owner, request.upload_key)
        if request.upload_key:
            async with self._ingestion_queue.alone(identifier):
                if earlier := await self._uploads.repeated(owner, identifier, request.data):
                    return pb.CreateFileResponse(file=earlier)
                with suppress(NotFoundError):  # usual: no deletion of this file has broken off
                    await self._deletions.delete_alone(owner, identifier)
                return await self._created(owner, identifier, filename, request)
        return await self._created(owner, identifier, filename, request)

    async def _created(
        self, owner: str, identifier: str, filename: str, request: pb.CreateFileRequest
    ) -> pb.CreateFileResponse:
        upload = pb.File(
            id=identifier,
            filename=filename,
            purpose=request.purpose,
            media_type=request.media_type,
            size=len(request.data),
            create_time=timestamp(now_microseconds()),
            organization=caller_of(caller().identity).organization,
        )
        await self._uploads.keep(owner, upload, request.data)
        await self._audit.add(_file_change("create", upload.id, after={"name": upload.filename}))
        return pb.CreateFileResponse(file=upload)

    async def GetFile(self, request: pb.GetFileRequest, context: Context) -> pb.GetFileResponse:
        """Get a file of the caller's."""
        return pb.GetFileResponse(file=await self._uploads.get(person(), request.id))

    async def ListFiles(
        self, request: pb.ListFilesRequest, context: Context
    ) -> pb.ListFilesResponse:
        """List one page of the caller's files."""
        page, token = page_of(await self._uploads.all(person()), request)
        return pb.ListFilesResponse(files=page, next_page_token=token)

    async def GetFileContent(
        self, request: pb.GetFileContentRequest, context: Context
    ) -> pb.GetFileContentResponse:
        """Get the content of a file of the caller's, or of a collection."""
        owner = person()
        if request.collection:
            _, collection = await self._readable(request.collection)
            file = await self._attachments.get(collection.id, request.id)
            owner = file.person
        upload = await self._uploads.get(owner, request.id)
        data = await self._uploads.content(owner, request.id)
        return pb.GetFileContentResponse(file=upload, data=data)

    async def GetFileText(
        self, request: pb.GetFileTextRequest, context: Context
    ) -> pb.GetFileTextResponse:
        """Get the beginning of the text of a file."""
        if request.data:
            return await self._texts.of_content(request, length_of(request))
        return await self._texts.get(request.id, length_of(request))

    @uninterrupted
    async def DeleteFile(
        self, request: pb.DeleteFileRequest, context: Context
    ) -> pb.DeleteFileResponse:
        """Delete a file of the caller's, also from all collections."""
        if request.unless_attached:
            await self._uploads.get(person(), request.id)
            if await self._attachments.everywhere(request.id):
                return pb.DeleteFileResponse()
        await self._deletions.delete(person(), request.id)
        self._texts.forget(person(), request.id)
        await self._audit.add(_file_change("delete", request.id))
        return pb.DeleteFileResponse()

    @uninterrupted
    async def AttachFile(
        self, request: pb.AttachFileRequest, context: Context
    ) -> pb.AttachFileResponse:
        """Begin to ingest a file into a collection."""
        attributes = {request.file_id: checks.attributes(request.attributes)}
        reading = reading_of(request)
        _, collection = await self._changeable(request.collection)
        async with self._ingestion_queue.alone(collection.id):
            (attachment,) = await self._new_attachments(collection, attributes, reading)
            await self._ingestion_queue.attach(attachment)
        change = content_change("file.attach", collection, file=request.file_id)
        await self._audit.add(change)
        return pb.AttachFileResponse(file=attached_message(attachment))

    async def GetAttachedFile(
        self, request: pb.GetAttachedFileRequest, context: Context
    ) -> pb.GetAttachedFileResponse:
        """Get a file of a collection."""
        _, collection = await self._readable(request.collection)
        file = await self._attachments.get(collection.id, request.file_id)
        (message,) = await self._shown([file])
        return pb.GetAttachedFileResponse(file=message)

    async def ListAttachedFiles(
        self, request: pb.ListAttachedFilesRequest, context: Context
    ) -> pb.ListAttachedFilesResponse:
        """List one page of the files of a collection, and of its documents that are none."""
        store, collection = await self._readable(request.collection)
        files = await self._attachments.of(collection.id)
        files += await ingested(store, collection, files)
        page, token, matching = await asyncio.to_thread(list_attachments, files, request)
        return pb.ListAttachedFilesResponse(
            files=await self._shown(page),
            next_page_token=token,
            matching_count=matching,
            counts=counts(files),
        )

    @uninterrupted
    async def UpdateAttachedFile(
        self, request: pb.UpdateAttachedFileRequest, context: Context
    ) -> pb.UpdateAttachedFileResponse:
        """Replace the attributes of a file of a collection."""
        attributes = checks.attributes(request.attributes)
        _, collection = await self._changeable(request.collection)
        file = await self._ingestion_queue.relabel(collection.id, request.file_id, attributes)
        change = content_change("file.update", collection, file=request.file_id)
        await self._audit.add(change)
        return pb.UpdateAttachedFileResponse(file=attached_message(file))

    @uninterrupted
    async def CancelAttachedFile(
        self, request: pb.CancelAttachedFileRequest, context: Context
    ) -> pb.CancelAttachedFileResponse:
        """Cancel the ingestion of a file."""
        _, collection = await self._changeable(request.collection)
        file = await self._attachments.get(collection.id, request.file_id)
        cancelled = await self._ingestion_queue.cancel_file(file)
        change = content_change("file.cancel", collection, file=request.file_id)
        await self._audit.add(change)
        return pb.CancelAttachedFileResponse(file=attached_message(cancelled))

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

    @uninterrupted
    async def DetachFile(
        self, request: pb.DetachFileRequest, context: Context
    ) -> pb.DetachFileResponse:
        """Remove a file from a collection."""
        _, collection = await self._changeable(request.collection)
        file = await self._attachments.get(collection.id, request.file_id)
        await self._ingestion_queue.detach(file)
        change = content_change("file.detach", collection, file=request.file_id)
        await self._audit.add(change)
        return pb.DetachFileResponse()

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
        batch = await self._attachments.batch(collection.id, request.batch_id)
        return pb.GetFileBatchResponse(batch=await self._message(batch))

    @uninterrupted
    async def CancelFileBatch(
        self, request: pb.CancelFileBatchRequest, context: Context
    ) -> pb.CancelFileBatchResponse:
        """Give up what is not in the collection yet."""
        _, collection = await self._changeable(request.collection)
        batch = await self._attachments.batch(collection.id, request.batch_id)
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
        batch = await self._attachments.batch(collection.id, request.batch_id)
        files = await self._attachments.of_batch(batch)
        page, token = page_of(files, request)
        return pb.ListFileBatchFilesResponse(
            files=map(attached_message, page), next_page_token=token
        )

    async def _message(self, batch: Batch) -> pb.FileBatch:
        return batch_message(batch, await self._attachments.of_batch(batch))

    async def _shown(self, files: Sequence[Attachment]) -> list[pb.AttachedFile]:
        ingestions = await self._attachments.reported(files)
        return [attached_message(each, ingestions.get(each.file_id)) for each in files]


def _file_change(action: str, identifier: str, after: Mapping[str, str] | None = None) -> Change:
    return Change(f"file.{action}", identifier, home(caller().identity), after=after)
