"""Writes the collections and files of one owner through the knowledge service."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import grpc
from google.protobuf.message import Message
from heddle.knowledge.v1 import files_pb2, files_pb2_grpc, knowledge_pb2, knowledge_pb2_grpc
from heddle.knowledge.v1.files_pb2_grpc import FileServiceAsyncStub
from heddle.knowledge.v1.knowledge_pb2_grpc import KnowledgeServiceAsyncStub
from heddle_runtime.contract.struct_codec import from_struct, to_struct
from heddle_runtime.errors import NotFoundError, UnavailableError, from_rpc
from heddle_runtime.identity.call_metadata import calling_as, new_call_options, on_behalf_of
from heddle_runtime.identity.callers import ADMIN, Identity

from heddle_migration_service.lamb.knowledge_registry import LambUser

FILE = "lamb_file"
"""The attribute with LAMB's identifier of a file."""
LAMB_ID = "collection_id"
"""The setting of a collection with its identifier at LAMB's server."""
_TIMEOUT_SECONDS, _PATIENCE_SECONDS, _PAUSE_SECONDS = 60.0, 60.0, 0.5
_FIRST_LOOK_SECONDS, _LAST_LOOK_SECONDS = 0.05, 2.0
_PAGE = 1_000
ResponseT = TypeVar("ResponseT")


class OwnersFiles:
    """What belongs to one owner. Each method raises a `HeddleError` if a call fails.

    Calls are repeated while the knowledge service is not available: all of them may be.
    """

    def __init__(self, channel: grpc.aio.Channel, owner: LambUser) -> None:
        """Act on behalf of a user, with the right to set identifiers of LAMB's."""
        self._knowledge: KnowledgeServiceAsyncStub = knowledge_pb2_grpc.KnowledgeServiceStub(
            channel
        )
        self._files: FileServiceAsyncStub = files_pb2_grpc.FileServiceStub(channel)
        self._identity = Identity(owner.email, owner.organization, (ADMIN,))

    async def imported(self, identifier: str) -> knowledge_pb2.Collection | None:
        """Return the collection of the organisation that has an identifier of LAMB's."""
        request = knowledge_pb2.GetCollectionRequest(name=identifier)
        try:
            response = await self._call(self._knowledge.GetCollection, request)
        except NotFoundError:
            return None
        collection = response.collection
        at_home = collection.organization == self._identity.organization
        is_imported = collection.settings.get(LAMB_ID) == identifier
        return collection if at_home and is_imported else None

    async def create(self, collection: knowledge_pb2.Collection) -> knowledge_pb2.Collection:
        """Create a collection."""
        request = knowledge_pb2.CreateCollectionRequest(collection=collection)
        return (await self._call(self._knowledge.CreateCollection, request)).collection

    async def attached(self, collection: str) -> dict[str, files_pb2.AttachedFile]:
        """Return the files of a collection that were copied, by LAMB's identifiers."""
        files: dict[str, files_pb2.AttachedFile] = {}
        request = files_pb2.ListAttachedFilesRequest(collection=collection, page_size=_PAGE)
        while True:
            response = await self._call(self._files.ListAttachedFiles, request)
            for each in response.files:
                if identifier := from_struct(each.attributes).get(FILE):
                    files[str(identifier)] = each
            if not response.next_page_token:
                return files
            request.page_token = response.next_page_token

    async def attach(
        self,
        collection: str,
        upload: files_pb2.CreateFileRequest,
        attributes: dict[str, Any],
        address: str,
    ) -> files_pb2.AttachedFile:
        """Upload a file, add it to a collection, and return it when its ingestion has ended.

        `address` is where people open it; empty if nowhere.
        """
        file = (await self._call(self._files.CreateFile, upload)).file
        request = files_pb2.AttachFileRequest(
            collection=collection, file_id=file.id, attributes=to_struct(attributes), uri=address
        )
        response = await self._call(self._files.AttachFile, request)
        return await self.settled(response.file)

    async def settled(self, file: files_pb2.AttachedFile) -> files_pb2.AttachedFile:
        """Wait for the end of the ingestion of a file, and return the file then."""
        pause = _FIRST_LOOK_SECONDS
        request = files_pb2.GetAttachedFileRequest(
            collection=file.collection_id, file_id=file.file_id
        )
        while file.status == files_pb2.ATTACHMENT_STATUS_IN_PROGRESS:
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, _LAST_LOOK_SECONDS)
            file = (await self._call(self._files.GetAttachedFile, request)).file
        return file

    async def detach(self, file: files_pb2.AttachedFile) -> None:
        """Remove a file from its collection, and delete it if it is in no other one."""
        detach = files_pb2.DetachFileRequest(collection=file.collection_id, file_id=file.file_id)
        await self._call(self._files.DetachFile, detach)
        delete = files_pb2.DeleteFileRequest(id=file.file_id, unless_attached=True)
        await self._call(self._files.DeleteFile, delete)

    async def document(self, file: files_pb2.AttachedFile) -> knowledge_pb2.Document:
        """Return the document of a file."""
        request = knowledge_pb2.GetDocumentRequest(
            collection=file.collection_id, name=file.document
        )
        return (await self._call(self._knowledge.GetDocument, request)).document

    async def _call(
        self, method: Callable[..., Awaitable[ResponseT]], request: Message
    ) -> ResponseT:
        until = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                with calling_as(on_behalf_of(self._identity)):
                    return await method(request, **new_call_options(_TIMEOUT_SECONDS))
            except grpc.aio.AioRpcError as rpc_error:
                error = from_rpc(rpc_error)
                if not isinstance(error, UnavailableError) or time.monotonic() > until:
                    raise error from rpc_error
            await asyncio.sleep(_PAUSE_SECONDS)
