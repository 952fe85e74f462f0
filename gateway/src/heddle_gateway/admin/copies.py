"""`/assistants/{id}/copy`: copies an assistant for the caller, with its documents."""

import re
from contextlib import suppress
from itertools import count
from typing import Annotated

from google.protobuf.struct_pb2 import ListValue
from google.rpc.error_details_pb2 import BadRequest
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle.knowledge.v1 import files_pb2, knowledge_pb2
from heddle_runtime.errors import AlreadyExistsError, HeddleError, NotFoundError
from heddle_runtime.identity.call_metadata import caller
from heddle_runtime.identity.permissions import require
from pydantic import Field

from heddle_gateway.admin.assistant_bodies import check_readable
from heddle_gateway.admin.assistants import StoredJson, created
from heddle_gateway.http.models import AssistantId, Model
from heddle_gateway.openai.models import PREFIX
from heddle_gateway.openai.vector_stores import create_collection, get_collection
from heddle_gateway.routing import ETAG, LOCATION, Call, Routes
from heddle_gateway.services import ServiceClients, call, items

_COLLECTIONS = "collections"
"""The member of a tool's configuration that names collections."""
_FILE_PREFIX = "file-"
_MAX_NAME = 100
_SETTINGS = ("language", "embedding_model", "page_handling", "graph")
_NOT_READABLE = (
    "no collection {name!r} that you may read; the copy is without it. Ask its owner to share it"
)
_SHARED = (
    "the documents of {name!r} have no files to copy; the copy searches the original collection"
)
routes = Routes("assistants")


class CopiedModel(Model):
    """The model of a copy."""

    connector: str
    model: str


class AssistantCopy(Model):
    """What a copy has instead of the original's."""

    title: Annotated[str, Field(max_length=300)] = ""
    model: CopiedModel | None = None


class _Copies:
    """The collections and files that a copy gets, by the names of the originals."""

    def __init__(self, services: ServiceClients) -> None:
        self._services = services
        self._ids: dict[str, str] = {}
        self._stores: list[str] = []
        self._files: list[str] = []
        self._warnings: dict[str, str] = {}

    async def replace(self, names: ListValue) -> list[str]:
        """Replace names of collections by the identifiers of copies, and return warnings."""
        known = [each for each in names if isinstance(each, str)]
        for name in known:
            if name not in self._ids:
                self._ids[name] = await self._copy(name)
        names.Clear()
        names.extend([copy for name in known if (copy := self._ids[name])])
        return [self._warnings[name] for name in known if name in self._warnings]

    async def discard(self) -> None:
        """Delete all copies."""
        for store in self._stores:
            with suppress(HeddleError):
                request = knowledge_pb2.DeleteCollectionRequest(name=store)
                await call(self._services.knowledge.DeleteCollection, request)
        for file in self._files:
            with suppress(HeddleError):
                await call(self._services.files.DeleteFile, files_pb2.DeleteFileRequest(id=file))

    async def _copy(self, name: str) -> str:
        """Return the copy of a collection; empty if the caller may not read the original."""
        try:
            original = await get_collection(self._services, name)
        except NotFoundError:
            self._warnings[name] = _NOT_READABLE.format(name=name)
            return ""
        request = files_pb2.ListAttachedFilesRequest(collection=original.id)
        files = await items(self._services.files.ListAttachedFiles, request, "files")
        has_files = all(each.file_id.startswith(_FILE_PREFIX) for each in files)
        if not has_files or original.backend not in {"", "embedded"}:
            self._warnings[name] = _SHARED.format(name=original.title or name)
            return original.id
        copy = knowledge_pb2.Collection(
            title=original.title or original.name,
            chunking=original.chunking,
            **{each: getattr(original, each) for each in _SETTINGS},
        )
        store = (await create_collection(self._services, copy, copy.title)).id
        self._stores.append(store)
        for file in files:
            await self._attach(original.id, file, store)
        return store

    async def _attach(self, original: str, file: files_pb2.AttachedFile, store: str) -> None:
        read = files_pb2.GetFileContentRequest(id=file.file_id, collection=original)
        content = await call(self._services.files.GetFileContent, read)
        upload = files_pb2.CreateFileRequest(
            filename=file.filename,
            purpose=content.file.purpose,
            media_type=content.file.media_type,
            data=content.data,
        )
        copy = (await call(self._services.files.CreateFile, upload)).file.id
        self._files.append(copy)
        request = files_pb2.AttachFileRequest(
            collection=store,
            file_id=copy,
            attributes=file.attributes,
            uri=file.uri,
            source=file.source,
            chunking=file.chunking if file.HasField("chunking") else None,
        )
        await call(self._services.files.AttachFile, request)


@routes.post("/assistants/{id}/copy", status=201, errors=(404, 409), headers={**ETAG, **LOCATION})
async def copy_assistant(api: Call, id_: AssistantId, body: AssistantCopy) -> StoredJson:
    """Copy an assistant that the caller may read, such as an example, with its documents.

    The caller owns the copy, which has the first free name like the original's, and new collections
    with copies of the files of those that the caller may read. The files are ingested in the
    background. `warnings` name the collections that are not copied, and the faults of the copy.
    """
    require(caller().identity, "manage_assistants")
    reference = f"{PREFIX}{id_}"
    request = pb.GetAssistantRequest(reference=reference)
    response = await call(api.services.assistants.GetAssistant, request)
    check_readable(reference, readable=response.readable)
    copy = pb.Assistant()
    copy.CopyFrom(response.assistant)
    for name in ("id", "owner", "organization", "create_time"):
        copy.ClearField(name)
    copy.title = body.title or copy.title
    if body.model is not None:
        copy.model.connector, copy.model.model = body.model.connector, body.model.model
    copies = _Copies(api.services)
    try:
        warnings = [
            BadRequest.FieldViolation(
                field=f"tools[{index}].config.{_COLLECTIONS}", description=warning
            )
            for index, tool in enumerate(copy.tools)
            if _COLLECTIONS in tool.config
            for warning in await copies.replace(tool.config.fields[_COLLECTIONS].list_value)
        ]
        stored = await _store(api.services, copy)
    except BaseException:
        await copies.discard()
        raise
    return created(api, stored, published=False, warnings=warnings)


async def _store(services: ServiceClients, copy: pb.Assistant) -> pb.CreateAssistantResponse:
    """Store a new assistant under the first name that is free."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", copy.name).strip("_-")[:_MAX_NAME] or "assistant"
    request = pb.CreateAssistantRequest(assistant=copy, imported=True)
    for number in count(2):
        request.assistant.name = f"{name}_{number}"
        with suppress(AlreadyExistsError):
            return await call(services.assistants.CreateAssistant, request)
    raise AssertionError("numbers do not end")
