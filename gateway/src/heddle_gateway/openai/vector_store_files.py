"""`/v1/vector_stores/{id}/files`: the files of a vector store and their status."""

from contextlib import suppress
from typing import Annotated, Any, Literal

from google.protobuf.struct_pb2 import Struct
from heddle.knowledge.v1 import files_pb2, knowledge_pb2
from heddle_runtime.contract.enums import enum_names
from heddle_runtime.contract.struct_codec import from_struct, to_struct
from heddle_runtime.errors import NotFoundError
from pydantic import Field

from heddle_gateway.http.error_responses import invalid
from heddle_gateway.http.models import (
    MAX_EXACT_NUMBER,
    Deleted,
    Identifier,
    Model,
    Seconds,
    StrictModel,
)
from heddle_gateway.openai.chunking import ChunkingStrategy, to_chunking, to_strategy
from heddle_gateway.openai.pagination import Page, PageQuery, select
from heddle_gateway.openai.vector_store_search import TextContent
from heddle_gateway.openai.vector_stores import (
    Key,
    Status,
    Value,
    VectorStoreId,
    get_collection,
    status,
)
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import ServiceClients, call, items

_STATUS_NUMBERS: dict[str, Any] = {
    name: number for number, name in enum_names(files_pb2.AttachmentStatus.DESCRIPTOR).items()
}
_ORDERS: dict[str, files_pb2.FileOrder.ValueType] = {
    "created": files_pb2.FILE_ORDER_CREATE_TIME,
    "name": files_pb2.FILE_ORDER_NAME,
    "size": files_pb2.FILE_ORDER_SIZE,
    "status": files_pb2.FILE_ORDER_STATUS,
}
_DOCUMENT_PREFIX = "doc_"
"""Prefix of identifiers of documents that were not uploaded as files."""
AttachedFileId = Annotated[
    str,
    Field(
        description="The file's identifier, or `doc_…` of a document that was not uploaded.",
        pattern="^(file-|doc_)[0-9a-f]{32}$",
    ),
]
_Number = Annotated[float, Field(ge=-MAX_EXACT_NUMBER, le=MAX_EXACT_NUMBER)]
Attributes = Annotated[dict[Key, Value | bool | _Number], Field(max_length=16)] | None
routes = Routes("vector stores")


class AttributesUpdate(Model):
    """New attributes of a file."""

    attributes: Attributes = None


class AttachedFile(AttributesUpdate):
    """A file to add."""

    file_id: Identifier
    chunking_strategy: ChunkingStrategy = None
    url: str = Field(
        default="",
        description="An extension of OpenAI's form: the address of a document, for example a web "
        "page, that is read in place of the file's content. The file names it.",
        examples=[""],
    )


class FileError(Model):
    """Why a file could not be added."""

    code: Literal["invalid_file", "server_error"]
    message: str


class VectorStoreFile(StrictModel):
    """A file of a vector store and its status."""

    id: str
    object: Literal["vector_store.file"] = "vector_store.file"
    usage_bytes: int
    created_at: Seconds
    vector_store_id: str
    status: Status
    last_error: FileError | None
    chunking_strategy: dict[str, Any]
    attributes: dict[str, Any]
    filename: str = Field(description="An extension of OpenAI's form: its name.")


class VectorStoreFilePage(Page):
    """A page of files of a vector store."""

    data: list[VectorStoreFile]


class VectorStoreFileQuery(PageQuery):
    """The query of a list of files of a vector store."""

    filter: Status | None = Field(default=None, description="Only files with this status.")


class StoreFileQuery(VectorStoreFileQuery):
    """The query of the list of files of a vector store."""

    order: Literal["asc", "desc"] = Field(default="desc", description="The direction of `sort`.")
    text: str = Field(
        default="", description="Only files whose name contains it, in any case.", examples=[""]
    )
    sort: Literal["created", "name", "size", "status"] = Field(
        default="created",
        description="What orders the list. By `status`: in progress, failed, cancelled, completed.",
    )


class StoreFilePage(VectorStoreFilePage):
    """A page of files of a vector store."""

    total: int = Field(
        description="An extension of OpenAI's form: how many files match the query on all pages."
    )


class RemovalQuery(Model):
    """The query of a removal."""

    delete_file: bool = Field(
        default=False,
        description="An extension of OpenAI's form: whether to delete the file itself as well, if "
        "the caller uploaded it and no other store has it.",
    )


class DeletedVectorStoreFile(Deleted):
    """The file is removed."""

    object: Literal["vector_store.file.deleted"] = "vector_store.file.deleted"


class FileText(Model):
    """The text of a file."""

    object: Literal["vector_store.file_content.page"] = "vector_store.file_content.page"
    data: list[TextContent]
    has_more: Literal[False] = False
    next_page: None = None


@routes.get("/v1/vector_stores/{id}/files", errors=(400, 404))
async def list_store_files(api: Call, id_: VectorStoreId, query: StoreFileQuery) -> StoreFilePage:
    """List the files of a vector store, the newest first.

    `text` and `sort` are extensions of OpenAI's form.
    """
    store = await get_collection(api.services, id_)
    request = files_pb2.ListAttachedFilesRequest(
        collection=store.id,
        text=query.text,
        status=_STATUS_NUMBERS[query.filter]
        if query.filter
        else files_pb2.ATTACHMENT_STATUS_UNSPECIFIED,
        order_by=_ORDERS[query.sort],
        descending=query.order == "desc",
    )
    if query.before:
        return await _page_before(api, query, request, store)
    request.after_file_id = query.after
    request.page_size = query.limit
    response = await call(api.services.files.ListAttachedFiles, request)
    return StoreFilePage(
        data=[view(each, store) for each in response.files],
        has_more=bool(response.next_page_token),
        total=response.matching_count,
    )


async def _page_before(
    api: Call,
    query: StoreFileQuery,
    request: files_pb2.ListAttachedFilesRequest,
    store: knowledge_pb2.Collection,
) -> StoreFilePage:
    """Return the page before a file, for which all files are needed."""
    files = await items(api.services.files.ListAttachedFiles, request, "files")
    matching = [view(each, store) for each in files]
    data, has_more = select(query.model_copy(update={"order": "asc"}), matching)
    return StoreFilePage(data=data, has_more=has_more, total=len(matching))


@routes.post("/v1/vector_stores/{id}/files", errors=(404,))
async def create(api: Call, id_: VectorStoreId, body: AttachedFile) -> VectorStoreFile:
    """Add a file to a vector store, in the background."""
    store = await get_collection(api.services, id_)
    check_chunking(body.chunking_strategy, store)
    request = files_pb2.AttachFileRequest(
        collection=store.id, file_id=body.file_id, attributes=to_attributes(body.attributes)
    )
    if body.url:
        request.uri, request.source = body.url, files_pb2.FILE_SOURCE_WEB
    response = await call(api.services.files.AttachFile, request)
    return view(response.file, store)


@routes.get("/v1/vector_stores/{id}/files/{file}", errors=(400, 404))
async def get(api: Call, id_: VectorStoreId, file: AttachedFileId) -> VectorStoreFile:
    """Get the status of a file, or of a document that was not uploaded."""
    store = await get_collection(api.services, id_)
    if file.startswith(_DOCUMENT_PREFIX):
        document_request = knowledge_pb2.GetDocumentRequest(collection=store.id, name=file)
        document = (await call(api.services.knowledge.GetDocument, document_request)).document
        attached = files_pb2.AttachedFile(
            file_id=document.id,
            size=document.size,
            create_time=document.ingest_time,
            status=files_pb2.ATTACHMENT_STATUS_COMPLETED,
            attributes=to_struct(document.metadata),
            filename=document.name,
        )
        return view(attached, store)
    request = files_pb2.GetAttachedFileRequest(collection=store.id, file_id=file)
    return view((await call(api.services.files.GetAttachedFile, request)).file, store)


@routes.post("/v1/vector_stores/{id}/files/{file}", errors=(404, 409))
async def update(
    api: Call, id_: VectorStoreId, file: AttachedFileId, body: AttributesUpdate
) -> VectorStoreFile:
    """Replace the attributes of a file."""
    store = await get_collection(api.services, id_)
    request = files_pb2.UpdateAttachedFileRequest(
        collection=store.id, file_id=file, attributes=to_attributes(body.attributes)
    )
    response = await call(api.services.files.UpdateAttachedFile, request)
    return view(response.file, store)


@routes.delete("/v1/vector_stores/{id}/files/{file}", errors=(400, 404))
async def delete(
    api: Call, id_: VectorStoreId, file: AttachedFileId, query: RemovalQuery
) -> DeletedVectorStoreFile:
    """Remove a file from a vector store."""
    if file.startswith(_DOCUMENT_PREFIX):
        document = knowledge_pb2.DeleteDocumentRequest(collection=id_, name=file)
        await call(api.services.knowledge.DeleteDocument, document)
    else:
        request = files_pb2.DetachFileRequest(collection=id_, file_id=file)
        await call(api.services.files.DetachFile, request)
        if query.delete_file:
            with suppress(NotFoundError):  # another user's, or deleted before
                deletion = files_pb2.DeleteFileRequest(id=file, unless_attached=True)
                await call(api.services.files.DeleteFile, deletion)
    return DeletedVectorStoreFile(id=file)


@routes.get("/v1/vector_stores/{id}/files/{file}/content", errors=(400, 404))
async def content(api: Call, id_: VectorStoreId, file: AttachedFileId) -> FileText:
    """Get the text of a file, in passages."""
    document = await document_of(api.services, id_, file)
    request = knowledge_pb2.ListPassagesRequest(collection=id_, document=document)
    passages = await items(api.services.knowledge.ListPassages, request, "passages")
    return FileText(data=[TextContent(text=each.text) for each in passages])


async def document_of(services: ServiceClients, store: str, file: str) -> str:
    """Return the name or the identifier of the document of a file.

    Raises:
        NotFoundError: The store has no such file.
    """
    if file.startswith(_DOCUMENT_PREFIX):
        return file
    request = files_pb2.GetAttachedFileRequest(collection=store, file_id=file)
    return (await call(services.files.GetAttachedFile, request)).file.document


def page_of(
    query: VectorStoreFileQuery,
    files: list[files_pb2.AttachedFile],
    store: knowledge_pb2.Collection,
) -> VectorStoreFilePage:
    """Return a page of the files of a store, the oldest of which comes first."""
    matching = [view(each, store) for each in files if query.filter in (None, status(each))]
    data, has_more = select(query, matching)
    return VectorStoreFilePage(data=data, has_more=has_more)


def view(file: files_pb2.AttachedFile, store: knowledge_pb2.Collection) -> VectorStoreFile:
    """Return a file of a vector store in OpenAI's form."""
    code: Literal["invalid_file", "server_error"]
    code = "invalid_file" if file.unreadable else "server_error"
    return VectorStoreFile(
        id=file.file_id,
        usage_bytes=file.size,
        created_at=file.create_time.seconds,
        vector_store_id=store.id,
        status=status(file),
        last_error=FileError(code=code, message=file.error) if file.error else None,
        chunking_strategy=to_strategy(store.chunking),
        attributes=from_struct(file.attributes),
        filename=file.filename,
    )


def check_chunking(
    strategy: ChunkingStrategy, store: knowledge_pb2.Collection, path: str = ""
) -> None:
    """Reject a chunking strategy other than the store's.

    Raises:
        InvalidRequestError: It is another one.
    """
    chunking = to_chunking(strategy)
    if chunking is not None and to_strategy(chunking) != to_strategy(store.chunking):
        raise invalid(
            f"{path}chunking_strategy",
            "must be that of the vector store: all of its files are cut alike",
        )


def to_attributes(attributes: Attributes) -> Struct | None:
    """Return the attributes of a file as the contract has them."""
    return None if attributes is None else to_struct(attributes)
