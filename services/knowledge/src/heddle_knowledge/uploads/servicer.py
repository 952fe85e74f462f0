"""`heddle.knowledge.v1.FileService`."""

import asyncio

from heddle.knowledge.v1 import files_pb2 as pb
from heddle.knowledge.v1 import files_pb2_grpc as pb_grpc
from heddle_runtime.paging import page_size, read_token, write_token
from heddle_runtime.server_interceptor import Context

from heddle_knowledge.service.failures import known_failures
from heddle_knowledge.uploads import checks
from heddle_knowledge.uploads.batch_calls import FileBatchCalls
from heddle_knowledge.uploads.calls import (
    DEFAULT_PAGE,
    MOST,
    attachment_of,
    now,
    person,
    place,
)
from heddle_knowledge.uploads.messages import attached_message, file_message
from heddle_knowledge.uploads.records import Upload, new_id


class FileServicer(FileBatchCalls, pb_grpc.FileServiceServicer):
    """Translates between the contract and the folders, each caller in his own."""

    async def CreateFile(
        self, request: pb.CreateFileRequest, context: Context
    ) -> pb.CreateFileResponse:
        """Keep a file of the caller's."""
        upload = Upload(
            new_id(),
            checks.filename(request),
            request.purpose,
            request.media_type,
            len(request.data),
            now(),
        )
        await asyncio.to_thread(self._uploads.keep, person(), upload, request.data)
        return pb.CreateFileResponse(file=file_message(upload))

    async def GetFile(self, request: pb.GetFileRequest, context: Context) -> pb.GetFileResponse:
        """Get a file of the caller's."""
        upload = await asyncio.to_thread(self._uploads.get, person(), request.id)
        return pb.GetFileResponse(file=file_message(upload))

    async def ListFiles(
        self, request: pb.ListFilesRequest, context: Context
    ) -> pb.ListFilesResponse:
        """List one page of the caller's files."""
        size = page_size(request.page_size, DEFAULT_PAGE, MOST)
        every = await asyncio.to_thread(self._uploads.all, person())
        after = read_token(request.page_token)
        matches = [it for it in every if place(it.created_at, it.id) > after][: size + 1]
        last = matches[size - 1] if len(matches) > size else None
        token = write_token(place(last.created_at, last.id)) if last else ""
        return pb.ListFilesResponse(
            files=[file_message(it) for it in matches[:size]], next_page_token=token
        )

    async def GetFileContent(
        self, request: pb.GetFileContentRequest, context: Context
    ) -> pb.GetFileContentResponse:
        """Get what a file of the caller's holds."""
        upload = await asyncio.to_thread(self._uploads.get, person(), request.id)
        data = await asyncio.to_thread(self._uploads.content, person(), request.id)
        return pb.GetFileContentResponse(file=file_message(upload), data=data)

    async def DeleteFile(
        self, request: pb.DeleteFileRequest, context: Context
    ) -> pb.DeleteFileResponse:
        """Delete a file of the caller's."""
        if request.unless_attached:
            await asyncio.to_thread(self._uploads.get, person(), request.id)
            if await asyncio.to_thread(self._attachments.anywhere, request.id):
                return pb.DeleteFileResponse()
        await asyncio.to_thread(self._uploads.delete, person(), request.id)
        return pb.DeleteFileResponse()

    async def AttachFile(
        self, request: pb.AttachFileRequest, context: Context
    ) -> pb.AttachFileResponse:
        """Begin to bring a file into a collection."""
        noted = checks.attributes(request.attributes)
        with known_failures():
            collection = await self._collection(request.collection, changing=True)
            upload = await asyncio.to_thread(self._uploads.get, person(), request.file_id)
            async with self._naming(collection):
                (document,) = await self._documents(collection, [upload])
                attachment = attachment_of(upload, collection, document, noted, now())
                await self._ingestion_queue.attach(attachment)
            return pb.AttachFileResponse(file=attached_message(attachment))

    async def GetAttachedFile(
        self, request: pb.GetAttachedFileRequest, context: Context
    ) -> pb.GetAttachedFileResponse:
        """Get a file of a collection."""
        with known_failures():
            collection = await self._collection(request.collection)
            attachment = await asyncio.to_thread(
                self._attachments.get, collection.id, request.file_id
            )
            return pb.GetAttachedFileResponse(file=attached_message(attachment))

    async def ListAttachedFiles(
        self, request: pb.ListAttachedFilesRequest, context: Context
    ) -> pb.ListAttachedFilesResponse:
        """List one page of the files of a collection."""
        size = page_size(request.page_size, DEFAULT_PAGE, MOST)
        with known_failures():
            collection = await self._collection(request.collection)
            every = await asyncio.to_thread(self._attachments.of, collection.id)
            after = read_token(request.page_token)
            matches = [it for it in every if place(it.created_at, it.file_id) > after][: size + 1]
            last = matches[size - 1] if len(matches) > size else None
            token = write_token(place(last.created_at, last.file_id)) if last else ""
            return pb.ListAttachedFilesResponse(
                files=[attached_message(it) for it in matches[:size]], next_page_token=token
            )

    async def UpdateAttachedFile(
        self, request: pb.UpdateAttachedFileRequest, context: Context
    ) -> pb.UpdateAttachedFileResponse:
        """Replace what is noted about a file of a collection."""
        noted = checks.attributes(request.attributes)
        with known_failures():
            collection = await self._collection(request.collection, changing=True)
            changed = await self._ingestion_queue.relabel(collection.id, request.file_id, noted)
            return pb.UpdateAttachedFileResponse(file=attached_message(changed))

    async def DetachFile(
        self, request: pb.DetachFileRequest, context: Context
    ) -> pb.DetachFileResponse:
        """Take a file out of a collection."""
        with known_failures():
            collection = await self._collection(request.collection, changing=True)
            attachment = await asyncio.to_thread(
                self._attachments.get, collection.id, request.file_id
            )
            await self._ingestion_queue.detach(attachment)
            return pb.DetachFileResponse()
