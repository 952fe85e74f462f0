"""`/collections`: collections in the form of LAMB's own knowledge-base server.

LAMB reaches Heddle with one key, registers the owners of collections itself, and knows users by
numbers. These numbers and LAMB's description of a collection are in the collection's metadata.
`collection_owners` tells to whom a collection belongs in Heddle.
"""

import time
from contextlib import suppress
from typing import Annotated, Any, Literal

from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle.knowledge.v1.files_pb2 import DeleteFileRequest
from heddle_gateway.http.models import Model, Name, StrictModel
from heddle_gateway.openai.vector_store_search import search_collection
from heddle_gateway.openai.vector_stores import (
    attached_files,
    collections,
)
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import ServiceClients, call
from heddle_runtime.errors import NotFoundError
from heddle_runtime.identity.call_metadata import calling_as, on_behalf_of
from pydantic import ConfigDict, Field

from heddle_migration_service.knowledge_server.collection_owners import (
    OWNER,
    create_titled,
    owner_of,
)
from heddle_migration_service.knowledge_server.numbers import (
    CollectionId,
    get_collection,
    is_heddles,
    number_in_lamb,
)
from heddle_migration_service.knowledge_server.query_plugins import (
    QUERY_PLUGINS,
    SIMPLE,
    SearchParameters,
    SectionParameters,
    query_plugin,
)
from heddle_migration_service.knowledge_server.results import SearchResult, result

_METADATA = ("owner", "description", "visibility")
_Note = Annotated[str, Field(max_length=512)] | None
_Title = Annotated[str, Field(min_length=1, max_length=255)]
TAG = "LAMB's knowledge bases"
routes = Routes(TAG)


class CollectionUpdate(Model):
    """Changes of a collection."""

    name: _Title | None = None
    description: _Note = None
    owner: _Note = None
    visibility: Literal["private", "public", ""] | None = None
    language: str | None = Field(
        default=None,
        description="An extension of LAMB's form: the language of the files, as `sv`, English by "
        "default.",
    )


class NewCollection(CollectionUpdate):
    """A new collection."""

    name: _Title


class LambCollection(StrictModel):
    """A collection."""

    id: int = Field(
        description="The number that LAMB's own server had assigned, else one of 16 digits."
    )
    name: str
    description: str
    visibility: str
    owner: str
    language: str
    creation_date: str = Field(json_schema_extra={"format": "date-time"})
    embeddings_model: dict[str, Any]


class CollectionList(Model):
    """A part of the collections, and their number."""

    total: int
    items: list[LambCollection]


class CollectionQuery(Model):
    """The query of the list of collections."""

    owner: str = Field(default="", description="Only collections of this user of LAMB, by number.")
    visibility: Literal["private", "public"] | None = Field(
        default=None, description="Only collections with this visibility in LAMB."
    )
    skip: int = Field(default=0, ge=0, le=10**9, description="The number of skipped items.")
    limit: int = Field(default=100, ge=1, le=1_000, description="The maximum number of items.")


class DeletedCollection(Model):
    """The collection is deleted."""

    id: int
    name: str
    deleted: Literal[True] = True


class PluginQuery(Model):
    """The query of a search."""

    plugin_name: str = Field(
        default="",
        description="`parent_child_query` returns the section around each passage as `data`.",
        json_schema_extra={"enum": list(QUERY_PLUGINS)},
    )


class CollectionSearch(SearchParameters):
    """A search. Unknown members are ignored."""

    model_config = ConfigDict(extra="ignore")

    query_text: Name
    plugin_params: SectionParameters | None = Field(
        default=None, description="`top_k` and `threshold` here take precedence."
    )


class SearchResults(Model):
    """The passages, the best first."""

    results: list[SearchResult]
    count: int
    timing: dict[str, float]
    query: str


@routes.get("/collections", errors=(400,))
async def list_collections(api: Call, query: CollectionQuery) -> CollectionList:
    """List the collections that the key may read."""
    views = [view(each) for each in await collections(api.services)]
    matching = [
        each
        for each in views
        if query.owner in ("", each.owner) and query.visibility in (None, each.visibility)
    ]
    items = matching[query.skip : query.skip + query.limit]
    return CollectionList(total=len(matching), items=items)


@routes.post("/collections", status=201, errors=(403, 409))
async def create(api: Call, body: NewCollection) -> LambCollection:
    """Create a collection.

    It belongs to the user whom LAMB knows by the number `owner` if the key is trusted and its
    owner administers that user. Otherwise it belongs to the owner of the key.
    """
    collection = pb.Collection(
        title=body.name,
        metadata=_metadata(body),
        language=body.language or "",
        settings={"shares": "registry"},
    )
    owner = await owner_of(api, body.owner or "")
    with calling_as(on_behalf_of(owner)):
        return view(await create_titled(api.services, collection))


@routes.get("/collections/{id}", errors=(400, 404))
async def get(api: Call, id_: CollectionId) -> LambCollection:
    """Get a collection."""
    return view(await get_collection(api.services, id_))


@routes.patch("/collections/{id}", errors=(404,))
async def update(api: Call, id_: CollectionId, body: CollectionUpdate) -> LambCollection:
    """Change LAMB's description of a collection."""
    collection = await get_collection(api.services, id_)
    request = pb.UpdateCollectionRequest(
        name=collection.id, title=body.name, language=body.language or ""
    )
    request.metadata.SetInParent()
    request.metadata.entries.update({**collection.metadata, **_metadata(body)})
    response = await call(api.services.knowledge.UpdateCollection, request)
    return view(response.collection)


@routes.delete("/collections/{id}", errors=(400, 404))
async def delete(api: Call, id_: CollectionId) -> DeletedCollection:
    """Delete a collection with its files."""
    collection = await get_collection(api.services, id_)
    files = await attached_files(api.services, collection.id)
    request = pb.DeleteCollectionRequest(name=collection.id)
    await call(api.services.knowledge.DeleteCollection, request)
    for file in files:
        await delete_unattached(api.services, file.file_id)
    name = collection.title or collection.name
    return DeletedCollection(id=number_in_lamb(collection), name=name)


@routes.post("/collections/{id}/query", errors=(404,))
async def search(
    api: Call, id_: CollectionId, query: PluginQuery, body: CollectionSearch
) -> SearchResults:
    """Search for passages."""
    started = time.perf_counter()
    plugin = query_plugin(query.plugin_name, body.plugin_params)
    own = body.plugin_params.model_dump(exclude_unset=True) if body.plugin_params else {}
    request = pb.SearchCollectionsRequest(
        collections=[id_],
        query=body.query_text,
        top_k=own.get("top_k", body.top_k),
        threshold=own.get("threshold", body.threshold),
    )
    if is_heddles(id_):  # others may be numbers of a server that is only searched
        request.collections[:] = [(await get_collection(api.services, id_)).id]
    passages = await search_collection(api.services, request)
    sections = plugin != SIMPLE
    whole = sections and own.get("return_parent_context", True)
    results = [result(each, id_, sections=sections, whole=whole) for each in passages]
    seconds = time.perf_counter() - started
    return SearchResults(
        results=results,
        count=len(results),
        timing={"total_seconds": seconds, "total_ms": seconds * 1_000},
        query=request.query,
    )


async def delete_unattached(services: ServiceClients, file: str) -> None:
    """Delete an uploaded file that is in no collection: LAMB has no such files.

    Raises:
        HeddleError: It cannot be deleted.
    """
    with suppress(NotFoundError):
        request = DeleteFileRequest(id=file, unless_attached=True)
        await call(services.files.DeleteFile, request)


def view(collection: pb.Collection) -> LambCollection:
    """Return a collection in LAMB's form."""
    metadata = collection.metadata
    return LambCollection.of(
        collection,
        id=number_in_lamb(collection),
        name=collection.title or collection.name,
        description=metadata.get("lamb_description", ""),
        visibility=metadata.get("lamb_visibility", "private"),
        owner=metadata.get(OWNER, collection.owner),
        creation_date=collection.create_time.ToJsonString(),
        embeddings_model={
            "model": collection.embedding_model,
            "vendor": "heddle",
            "api_endpoint": None,
            "apikey_configured": False,
        },
    )


def _metadata(body: CollectionUpdate) -> dict[str, str]:
    values = {name: getattr(body, name) for name in _METADATA}
    return {f"lamb_{name}": text for name, text in values.items() if text}
