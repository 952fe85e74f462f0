"""`heddle.knowledge.v1.KnowledgeService`."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle.knowledge.v1 import knowledge_pb2_grpc as pb_grpc
from heddle_runtime.boundary import Context
from heddle_runtime.calls import caller
from heddle_runtime.paging import page_size, read_token, write_token

from heddle_tools_service.knowledge.access import (
    caller_of,
    changeable,
    check_sharing,
    may_read,
    meant,
)
from heddle_tools_service.knowledge.failures import known_failures
from heddle_tools_service.knowledge.filtering import wanted
from heddle_tools_service.knowledge.limits import check_collection, check_search, check_update
from heddle_tools_service.knowledge.messages import (
    SHARINGS,
    collection_message,
    statistics_message,
    treatment,
)
from heddle_tools_service.knowledge.names import document_id
from heddle_tools_service.knowledge.records import (
    EMBEDDED,
    Collection,
    Document,
    IngestProgress,
    Mode,
    Passage,
)

if TYPE_CHECKING:  # loads the engine
    from heddle_tools_service.knowledge.store import KnowledgeStore

_MOST_COLLECTIONS = 200
_MOST_DOCUMENTS = 1_000
_DEFAULT_TOP_K = 5
_LONGEST_QUERY = 8_000
_MODES: dict[pb.SearchMode.ValueType, Mode] = {
    pb.SEARCH_MODE_UNSPECIFIED: "hybrid",
    pb.SEARCH_MODE_HYBRID: "hybrid",
    pb.SEARCH_MODE_VECTOR: "vector",
    pb.SEARCH_MODE_TEXT: "text",
}


class KnowledgeServicer(pb_grpc.KnowledgeServiceServicer):
    """Translates between the contract and the engine."""

    def __init__(
        self,
        store: "Callable[[], Awaitable[KnowledgeStore]]",
        deleted: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        """Take the way to the store, and who wants to know the id of a deleted collection."""
        self._store = store
        self._deleted = deleted

    async def CreateCollection(
        self, request: pb.CreateCollectionRequest, context: Context
    ) -> pb.CreateCollectionResponse:
        """Make a collection of the caller's, or register one of a knowledge-base server."""
        asked, person = request.collection, caller_of(caller().identity)
        check_collection(asked)
        check_sharing(person, SHARINGS[asked.sharing])
        with known_failures():
            store = await self._store()
            made = await store.create_collection(
                asked.name,
                title=asked.title,
                backend=asked.backend or EMBEDDED,
                settings=dict(asked.settings),
                owner=person.name,
                organization=person.organization,
                **treatment(asked),
            )
            return pb.CreateCollectionResponse(collection=await _counted(store, made))

    async def GetCollection(
        self, request: pb.GetCollectionRequest, context: Context
    ) -> pb.GetCollectionResponse:
        """Get one collection that the caller may read."""
        with known_failures():
            store, collection = await self._readable(request.name)
            return pb.GetCollectionResponse(collection=await _counted(store, collection))

    async def ListCollections(
        self, request: pb.ListCollectionsRequest, context: Context
    ) -> pb.ListCollectionsResponse:
        """List one page of the collections that the caller may read."""
        size = page_size(request.page_size, 50, _MOST_COLLECTIONS)
        name, _, number = read_token(request.page_token).partition("/")
        with known_failures():
            store = await self._store()
            person = caller_of(caller().identity)
            known = (await store.all_collections()).values()
            later = (it for it in known if (it.name, it.id) > (name, number))
            readable = (it for it in later if may_read(person, it))
            found = sorted(readable, key=lambda it: (it.name, it.id))[: size + 1]
            counted = await asyncio.gather(*(_counted(store, item) for item in found[:size]))
            last = found[size - 1] if len(found) > size else None
            return pb.ListCollectionsResponse(
                collections=counted,
                next_page_token=write_token(f"{last.name}/{last.id}") if last else "",
            )

    async def UpdateCollection(
        self, request: pb.UpdateCollectionRequest, context: Context
    ) -> pb.UpdateCollectionResponse:
        """Change what a collection is called, who may read it, or what is noted about it."""
        check_update(request)
        person = caller_of(caller().identity)
        with known_failures():
            store, collection = await self._changeable(request.name)
            changes: dict[str, Any] = {}
            if request.HasField("title"):
                changes["title"] = request.title
            if request.sharing:
                changes["sharing"] = SHARINGS[request.sharing]
                check_sharing(person, SHARINGS[request.sharing])
            if request.HasField("metadata"):
                changes["metadata"] = MappingProxyType(dict(request.metadata.entries))
            changed = replace(collection, **changes)
            await store.change_collection(changed)
            return pb.UpdateCollectionResponse(collection=await _counted(store, changed))

    async def GetCollectionStatistics(
        self, request: pb.GetCollectionStatisticsRequest, context: Context
    ) -> pb.GetCollectionStatisticsResponse:
        """Count what a collection holds."""
        with known_failures():
            store, collection = await self._readable(request.collection)
            if collection.backend != EMBEDDED:
                return pb.GetCollectionStatisticsResponse()
            return statistics_message(await store.statistics(collection.id))

    async def DeleteCollection(
        self, request: pb.DeleteCollectionRequest, context: Context
    ) -> pb.DeleteCollectionResponse:
        """Delete a collection with everything in it."""
        with known_failures():
            store, collection = await self._changeable(request.name)
            await store.delete_collection(collection.id)
            if self._deleted is not None:
                await self._deleted(collection.id)
            return pb.DeleteCollectionResponse()

    async def IngestDocument(
        self, request: pb.IngestDocumentRequest, context: Context
    ) -> AsyncGenerator[pb.IngestDocumentResponse]:
        """Stream how far the ingestion is, then the document as it is kept."""
        with known_failures():
            store, collection = await self._changeable(request.collection)
            events = store.ingest(
                collection.id,
                request.name,
                request.data,
                media_type=request.media_type,
                uri=request.uri,
                metadata=dict(request.metadata),
            )
            async with aclosing(events):
                async for event in events:
                    if not isinstance(event, IngestProgress):
                        kept = await store.get_document(collection.id, request.name)
                        ingested = pb.Ingested(
                            document=_kept(collection, kept),
                            replaced=event.replaced,
                            unchanged=event.unchanged,
                        )
                        yield pb.IngestDocumentResponse(ingested=ingested)
                    elif event.stage == "embedding":  # the other stages do not count passages
                        progress = pb.IngestProgress(done=event.done, total=event.total)
                        yield pb.IngestDocumentResponse(progress=progress)

    async def GetDocument(
        self, request: pb.GetDocumentRequest, context: Context
    ) -> pb.GetDocumentResponse:
        """Get one document by its name or its identifier."""
        with known_failures():
            store, collection = await self._readable(request.collection)
            name = await store.document_name(collection.id, request.name)
            found = await store.get_document(collection.id, name)
            return pb.GetDocumentResponse(document=_kept(collection, found))

    async def ListDocuments(
        self, request: pb.ListDocumentsRequest, context: Context
    ) -> pb.ListDocumentsResponse:
        """List one page of documents."""
        size = page_size(request.page_size, 100, _MOST_DOCUMENTS)
        with known_failures():
            store, collection = await self._readable(request.collection)
            after = read_token(request.page_token)
            found = await store.list_documents(collection.id, after, size)
            more = len(found) == size and await store.list_documents(
                collection.id, found[-1].name, 1
            )
            return pb.ListDocumentsResponse(
                documents=[_kept(collection, each) for each in found],
                next_page_token=write_token(found[-1].name) if more else "",
            )

    async def DeleteDocument(
        self, request: pb.DeleteDocumentRequest, context: Context
    ) -> pb.DeleteDocumentResponse:
        """Delete one document."""
        with known_failures():
            store, collection = await self._changeable(request.collection)
            name = await store.document_name(collection.id, request.name)
            await store.delete_document(collection.id, name)
            return pb.DeleteDocumentResponse()

    async def SearchCollection(
        self, request: pb.SearchCollectionRequest, context: Context
    ) -> pb.SearchCollectionResponse:
        """Find passages."""
        check_search(request)
        where = wanted(request)
        with known_failures():
            store, collection = await self._readable(request.collection)
            found = await store.search(
                collection.id,
                request.query[:_LONGEST_QUERY],
                top_k=request.top_k or _DEFAULT_TOP_K,
                threshold=request.threshold,
                mode=_MODES[request.mode],
                where=where,
            )
            return pb.SearchCollectionResponse(
                passages=[_passage(collection, each) for each in found]
            )

    async def _readable(self, reference: str) -> "tuple[KnowledgeStore, Collection]":
        """Return the store, and the collection that the caller means and may read."""
        store = await self._store()
        known = await store.all_collections()
        return store, meant(known.values(), caller_of(caller().identity), reference)

    async def _changeable(self, reference: str) -> "tuple[KnowledgeStore, Collection]":
        """Return the store, and the collection that the caller means and may change."""
        store = await self._store()
        known = await store.all_collections()
        return store, changeable(known.values(), caller_of(caller().identity), reference)


async def _counted(store: "KnowledgeStore", collection: Collection) -> pb.Collection:
    here = collection.backend == EMBEDDED
    size = await store.collection_size(collection.id) if here else None
    return collection_message(collection, size)


def _kept(collection: Collection, document: Document) -> pb.Document:
    told = pb.Document(
        id=document_id(collection.id, document.name),
        name=document.name,
        title=document.title,
        uri=document.uri,
        media_type=document.media_type,
        sha256=document.sha256,
        passage_count=document.chunks,
        size=document.size,
        metadata=document.metadata,
    )
    told.ingest_time.FromDatetime(document.ingested_at)
    return told


def _passage(collection: Collection, passage: Passage) -> pb.Passage:
    document = document_id(collection.id, passage.document)
    return pb.Passage(
        text=passage.text,
        similarity=passage.score,
        document=passage.document,
        title=passage.title,
        uri=passage.uri,
        headings=passage.heading,
        page=passage.page or 0,
        ordinal=passage.ordinal,
        parent_text=passage.parent_text,
        relevance=passage.relevance,
        id=f"{document}:{passage.ordinal}",
        document_id=document,
        metadata=passage.metadata,
    )
