"""`/v1/vector_stores`: collections of the knowledge service, in OpenAI's form."""

import asyncio
import re
import secrets
from typing import Annotated, Any, Literal

from heddle.knowledge.v1 import files_pb2, knowledge_pb2
from heddle_runtime.contract.enums import enum_names
from heddle_runtime.errors import (
    AlreadyExistsError,
    InvalidRequestError,
    NotFoundError,
    Violation,
)
from pydantic import Field

from heddle_gateway.http.models import (
    Deleted,
    Identifier,
    Seconds,
    StrictModel,
    identifier,
)
from heddle_gateway.openai.chunking import ChunkingStrategy, to_chunking, to_strategy
from heddle_gateway.openai.pagination import Page, PageQuery, select
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import ServiceClients, call, items

MAX_FILES = 100
"""Files that a new store can have."""
_MAX_NAME = 48
Status = Literal["in_progress", "completed", "failed", "cancelled"]
Sharing = Literal["private", "organization", "everyone"]
PageHandling = Literal["text", "pictures", "search"]
_STATUSES = enum_names(files_pb2.AttachmentStatus.DESCRIPTOR)
_SHARINGS = enum_names(knowledge_pb2.Sharing.DESCRIPTOR)
PAGE_HANDLINGS = enum_names(knowledge_pb2.PageHandling.DESCRIPTOR)
_SHARING_NUMBERS: dict[str, Any] = {name: number for number, name in _SHARINGS.items()}
_PAGE_HANDLING_NUMBERS: dict[str, Any] = {name: number for number, name in PAGE_HANDLINGS.items()}
VectorStoreId = Annotated[
    str, identifier("The vector store's identifier, or the name of the collection.")
]
_Title = Annotated[str, Field(max_length=300)] | None
Key = Annotated[str, Field(min_length=1, max_length=64)]
Value = Annotated[str, Field(max_length=512)]
_Metadata = Annotated[dict[Key, Value], Field(max_length=16)] | None
_Language = Annotated[
    str | None,
    Field(
        description="An extension of OpenAI's form: the language of the files for full-text "
        "search, as `sv` or `pt-BR`, English by default. The error for an unsupported language "
        "lists the supported ones."
    ),
]
_Never = Annotated[None, Field(description="Not supported: stores stay until they are deleted.")]
routes = Routes("vector stores")


class VectorStoreUpdate(StrictModel):
    """Changes of a vector store."""

    sharing: Annotated[
        Sharing | None,
        Field(
            description="An extension of OpenAI's form: who besides its owner and the "
            "administrators of its organisation may search it. Only callers with the scope "
            "`admin` may share with everyone."
        ),
    ] = None

    name: _Title = None
    metadata: _Metadata = None
    expires_after: _Never = None
    language: _Language = None


class Place(StrictModel):
    """A collection of another search engine, which is searched and never changed."""

    server: str = Field(description="One of the `search_servers` of `/v1/vector_store_options`.")
    collection: str = Field(description="Its name there.")
    text: str = Field(
        default="",
        description="The property of an entry that is its text; `a.b` is the member `b` of `a`. "
        "Only Chroma has a text without it.",
    )
    title: str = Field(default="", description="The property with the title of its document.")
    uri: str = Field(default="", description="The property with the address of its document.")
    page: str = Field(default="", description="The property with the page.")
    vector: str = Field(default="", description="The name of the vector, if it has one.")
    tenant: str = Field(default="", description="The tenant of Chroma or Weaviate.")
    database: str = Field(default="", description="The database of Chroma.")


class NewVectorStore(VectorStoreUpdate):
    """A new vector store."""

    file_ids: Annotated[list[Identifier], Field(max_length=MAX_FILES)] | None = None
    chunking_strategy: ChunkingStrategy = None
    embedding_model: str = Field(
        default="",
        description="An extension of OpenAI's form: one of the models of "
        "`/v1/vector_store_options`. By default, the first of them, and "
        "`multilingual-e5-small-q4` for other languages than English if that is Heddle's own.",
    )
    page_handling: PageHandling | None = Field(
        default=None,
        description="An extension of OpenAI's form: whether to read only the text of pages, to "
        "store pictures of them (the default), or also to search pages.",
    )
    place: Place | None = Field(
        default=None,
        description="An extension of OpenAI's form: where the content is, if it is in another "
        "search engine. Such a store takes no files.",
    )


class FileCounts(StrictModel):
    """Numbers of files by status."""

    in_progress: int
    completed: int
    failed: int
    cancelled: int
    total: int


class VectorStore(StrictModel):
    """A vector store."""

    id: str
    object: Literal["vector_store"] = "vector_store"
    created_at: Seconds
    name: str
    collection: str = Field(
        description="An extension of OpenAI's form: its name for `heddle ingest`. Assistants may "
        "refer to it by this name or by the identifier."
    )
    usage_bytes: int = Field(description="Bytes of the files.")
    file_counts: FileCounts
    status: Literal["in_progress", "completed"]
    expires_after: None = None
    expires_at: None = None
    last_active_at: None = None
    metadata: dict[str, str]
    language: str = Field(description="The language for full-text search.")
    sharing: Sharing = Field(description="Who else may search it.")
    owner: str = Field(description="The user who created it; empty for the operator.")
    organization: str
    editable: bool = Field(description="Whether the caller may change it.")
    embedding_model: str
    page_handling: PageHandling
    chunking_strategy: dict[str, Any] = Field(description="How its files are split.")
    backend: str = Field(
        description="Where its content is: `embedded`, or the kind of another search engine, "
        "such as `weaviate`, which Heddle only searches."
    )
    place: dict[str, str] = Field(description="Where it is in that search engine.")


class VectorStorePage(Page):
    """A page of vector stores."""

    data: list[VectorStore]


class DeletedVectorStore(Deleted):
    """The vector store is deleted."""

    object: Literal["vector_store.deleted"] = "vector_store.deleted"


class VectorStoreQuery(PageQuery):
    """The query of the list of vector stores."""

    order: Literal["asc", "desc"] = Field(default="desc", description="The direction of `sort`.")
    text: str = Field(
        default="", description="Only stores whose name contains it, in any case.", examples=[""]
    )
    sort: Literal["created", "name"] = Field(default="created", description="What orders the list.")
    editable: bool = Field(
        default=False, description="Whether to list only stores that the caller may change."
    )


@routes.get("/v1/vector_stores", errors=(400,))
async def list_stores(api: Call, query: VectorStoreQuery) -> VectorStorePage:
    """List the vector stores that the caller may read, the newest first.

    `text`, `sort` and `editable` are extensions of OpenAI's form.
    """
    stores = [
        each
        for each in await collections(api.services, query.text)
        if each.changeable or not query.editable
    ]
    stores.sort(key=lambda each: (each.create_time.ToMicroseconds(), each.id))
    if query.sort == "name":
        stores.sort(key=lambda each: (each.title or each.name).casefold())
    selected, has_more = select(query, stores)
    views = await asyncio.gather(*(_view_if_exists(api.services, each) for each in selected))
    return VectorStorePage(data=[view for view in views if view is not None], has_more=has_more)


@routes.post("/v1/vector_stores", errors=(404,))
async def create(api: Call, body: NewVectorStore) -> VectorStore:
    """Create a vector store, a collection of the knowledge service.

    Assistants refer to it by its identifier. The files of `file_ids` are added in the background.
    """
    title = body.name or ""
    collection = knowledge_pb2.Collection(
        title=title,
        metadata=body.metadata or {},
        chunking=to_chunking(body.chunking_strategy),
        language=body.language or "",
        embedding_model=body.embedding_model,
        sharing=_SHARING_NUMBERS[body.sharing]
        if body.sharing
        else knowledge_pb2.SHARING_UNSPECIFIED,
        page_handling=_PAGE_HANDLING_NUMBERS[body.page_handling or "pictures"],
    )
    files = body.file_ids or []
    if body.place is not None:
        collection.backend = await _backend_of(api.services, body.place.server)
        collection.settings.update(to_settings(body.place))
    for file in files:  # before anything is created
        await call(api.services.files.GetFile, files_pb2.GetFileRequest(id=file))
    store = await create_collection(api.services, collection, title)
    for file in files:
        request = files_pb2.AttachFileRequest(collection=store.id, file_id=file)
        await call(api.services.files.AttachFile, request)
    return await _view(api.services, store)


@routes.get("/v1/vector_stores/{id}", errors=(400, 404))
async def get(api: Call, id_: VectorStoreId) -> VectorStore:
    """Get a vector store."""
    return await _view(api.services, await get_collection(api.services, id_))


@routes.post("/v1/vector_stores/{id}", errors=(404,))
async def update(api: Call, id_: VectorStoreId, body: VectorStoreUpdate) -> VectorStore:
    """Change a vector store's name, its metadata, its language or its sharing."""
    request = knowledge_pb2.UpdateCollectionRequest(
        name=id_, title=body.name, language=body.language or ""
    )
    if body.sharing is not None:
        request.sharing = _SHARING_NUMBERS[body.sharing]
    if body.metadata is not None:
        request.metadata.SetInParent()
        request.metadata.entries.update(body.metadata)
    response = await call(api.services.knowledge.UpdateCollection, request)
    return await _view(api.services, response.collection)


@routes.delete("/v1/vector_stores/{id}", errors=(400, 404))
async def delete(api: Call, id_: VectorStoreId) -> DeletedVectorStore:
    """Delete a vector store with its content. The files stay."""
    request = knowledge_pb2.DeleteCollectionRequest(name=id_)
    await call(api.services.knowledge.DeleteCollection, request)
    return DeletedVectorStore(id=id_)


def to_settings(place: Place) -> dict[str, str]:
    """Return the settings of a collection of another search engine."""
    settings: dict[str, str] = {name: value for name, value in place.model_dump().items() if value}
    settings["collection_id"] = settings.pop("collection", "")
    return settings


async def _backend_of(services: ServiceClients, server: str) -> str:
    request = knowledge_pb2.GetCollectionOptionsRequest()
    known = (await call(services.knowledge.GetCollectionOptions, request)).search_servers
    for each in known:
        if each.name == server:
            return each.backend
    names = ", ".join(repr(each.name) for each in known) or "none"
    raise InvalidRequestError(
        "The vector store cannot be made.",
        [Violation("place.server", f"must be a server of the organisation: {names}")],
    )


async def create_collection(
    services: ServiceClients, collection: knowledge_pb2.Collection, title: str
) -> knowledge_pb2.Collection:
    """Create a collection with a name similar to its title that is unique in the organisation.

    Raises:
        HeddleError: It cannot be created.
    """
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", title).strip("_.-")[:_MAX_NAME]
    collection.name = plain or f"vector-store-{secrets.token_hex(4)}"
    request = knowledge_pb2.CreateCollectionRequest(collection=collection)
    method = services.knowledge.CreateCollection
    try:
        return (await call(method, request)).collection
    except AlreadyExistsError:
        request.collection.name = f"{collection.name}-{secrets.token_hex(4)}"
        return (await call(method, request)).collection


async def get_collection(services: ServiceClients, name: str) -> knowledge_pb2.Collection:
    """Return a collection.

    Raises:
        HeddleError: It is not available to the caller.
    """
    request = knowledge_pb2.GetCollectionRequest(name=name)
    return (await call(services.knowledge.GetCollection, request)).collection


async def collections(services: ServiceClients, text: str = "") -> list[knowledge_pb2.Collection]:
    """Return all collections that the caller may read and whose name or title has a text.

    Raises:
        HeddleError: They are not available.
    """
    request = knowledge_pb2.ListCollectionsRequest(text=text)
    return await items(services.knowledge.ListCollections, request, "collections")


async def attached_files(services: ServiceClients, collection: str) -> list[files_pb2.AttachedFile]:
    """Return the uploaded files of a collection, the oldest first.

    Raises:
        HeddleError: They are not available.
    """
    request = files_pb2.ListAttachedFilesRequest(collection=collection)
    listed = await items(services.files.ListAttachedFiles, request, "files")
    return [each for each in listed if each.file_id.startswith("file-")]


def status(file: files_pb2.AttachedFile) -> Status:
    """Return the status of a file in OpenAI's form."""
    state: Status = _STATUSES.get(file.status, "failed")
    return state


async def _view_if_exists(
    services: ServiceClients, collection: knowledge_pb2.Collection
) -> VectorStore | None:
    try:
        return await _view(services, collection)
    except NotFoundError:  # deleted since it was listed
        return None


async def _view(services: ServiceClients, collection: knowledge_pb2.Collection) -> VectorStore:
    request = files_pb2.ListAttachedFilesRequest(collection=collection.id, page_size=1)
    counts = (await call(services.files.ListAttachedFiles, request)).counts
    numbers = {name: getattr(counts, name) for name in _STATUSES.values()}
    return VectorStore.of(
        collection,
        created_at=collection.create_time.seconds,
        name=collection.title or collection.name,
        collection=collection.name,
        usage_bytes=counts.bytes,
        file_counts={**numbers, "total": sum(numbers.values())},
        status="in_progress" if counts.in_progress else "completed",
        metadata=dict(collection.metadata),
        editable=collection.changeable,
        sharing=_SHARINGS.get(collection.sharing, "private"),
        page_handling=PAGE_HANDLINGS.get(collection.page_handling, "pictures"),
        chunking_strategy=to_strategy(collection.chunking),
        place=dict(collection.settings) if collection.backend != "embedded" else {},
    )
