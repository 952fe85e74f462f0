"""`heddle.knowledge.v1.KnowledgeService`."""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle.knowledge.v1 import knowledge_pb2_grpc as pb_grpc
from heddle_runtime.boundary import Context
from heddle_runtime.calls import caller
from heddle_runtime.errors import InvalidRequestError, NotFoundError
from heddle_runtime.paging import page_size, read_token, write_token

from heddle_tools_service.knowledge.access import (
    caller_of,
    changeable,
    check_sharing,
    may_read,
    meant,
)
from heddle_tools_service.knowledge.failures import known_failures
from heddle_tools_service.knowledge.filtering import wanted, wanted_pages
from heddle_tools_service.knowledge.limits import (
    check_collection,
    check_ingestion,
    check_page_search,
    check_search,
    check_update,
)
from heddle_tools_service.knowledge.messages import (
    SHARINGS,
    collection_message,
    document_message,
    page_message,
    passage_message,
    statistics_message,
    treatment,
)
from heddle_tools_service.knowledge.records import (
    EMBEDDED,
    Collection,
    IngestProgress,
    Mode,
    Reranking,
    SearchOptions,
)

if TYPE_CHECKING:  # loads the engine
    from heddle_tools_service.knowledge.store import KnowledgeStore

_MOST_COLLECTIONS = 200
_MOST_DOCUMENTS = 1_000
_DEFAULT_TOP_K = 5
_ORDINAL = re.compile(r"[0-9]{1,9}")
_DEFAULT_PAGES = 3
_LONGEST_QUERY = 8_000
_MODES: dict[pb.SearchMode.ValueType, Mode] = {
    pb.SEARCH_MODE_UNSPECIFIED: "hybrid",
    pb.SEARCH_MODE_HYBRID: "hybrid",
    pb.SEARCH_MODE_VECTOR: "vector",
    pb.SEARCH_MODE_TEXT: "text",
}
_RERANKINGS: dict[pb.Reranking.ValueType, Reranking] = {
    pb.RERANKING_UNSPECIFIED: "none",
    pb.RERANKING_NONE: "none",
    pb.RERANKING_LATE_INTERACTION: "late_interaction",
    pb.RERANKING_MODEL: "model",
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
            made = await store.collections.create(
                asked.name,
                title=asked.title,
                backend=asked.backend or EMBEDDED,
                settings=dict(asked.settings),
                owner=person.name,
                organization=person.organization,
                embedding_model=asked.embedding_model,
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
            known = (await store.collections.all()).values()
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
            await store.collections.change(changed)
            return pb.UpdateCollectionResponse(collection=await _counted(store, changed))

    async def GetCollectionStatistics(
        self, request: pb.GetCollectionStatisticsRequest, context: Context
    ) -> pb.GetCollectionStatisticsResponse:
        """Count what a collection holds."""
        with known_failures():
            store, collection = await self._readable(request.collection)
            if collection.backend != EMBEDDED:
                return pb.GetCollectionStatisticsResponse()
            told = statistics_message(await store.collections.statistics(collection.id))
            told.page_count = await store.pages.count_pictures(collection.id)
            return told

    async def DeleteCollection(
        self, request: pb.DeleteCollectionRequest, context: Context
    ) -> pb.DeleteCollectionResponse:
        """Delete a collection with everything in it."""
        with known_failures():
            store, collection = await self._changeable(request.name)
            await store.collections.delete(collection.id)
            if self._deleted is not None:
                await self._deleted(collection.id)
            return pb.DeleteCollectionResponse()

    async def IngestDocument(
        self, request: pb.IngestDocumentRequest, context: Context
    ) -> AsyncGenerator[pb.IngestDocumentResponse]:
        """Stream how far the ingestion is, then the document as it is kept."""
        check_ingestion(request)
        time = request.document_time
        with known_failures():
            store, collection = await self._changeable(request.collection)
            events = store.documents.ingest(
                collection.id,
                request.name,
                request.data,
                media_type=request.media_type,
                uri=request.uri,
                metadata=dict(request.metadata),
                document_time=time.ToDatetime(UTC) if request.HasField("document_time") else None,
            )
            async with aclosing(events):
                async for event in events:
                    if not isinstance(event, IngestProgress):
                        kept = await store.documents.get(collection.id, request.name)
                        ingested = pb.Ingested(
                            document=document_message(collection, kept),
                            replaced=event.replaced,
                            unchanged=event.unchanged,
                        )
                        yield pb.IngestDocumentResponse(ingested=ingested)
                    else:
                        yield pb.IngestDocumentResponse(
                            progress=pb.IngestProgress(
                                stage=event.stage, done=event.done, total=event.total
                            )
                        )

    async def GetDocument(
        self, request: pb.GetDocumentRequest, context: Context
    ) -> pb.GetDocumentResponse:
        """Get one document by its name or its identifier."""
        with known_failures():
            store, collection = await self._readable(request.collection)
            name = await store.documents.name_of(collection.id, request.name)
            found = await store.documents.get(collection.id, name)
            return pb.GetDocumentResponse(document=document_message(collection, found))

    async def ListPassages(
        self, request: pb.ListPassagesRequest, context: Context
    ) -> pb.ListPassagesResponse:
        """List one page of the passages of a document, all of one version of it."""
        size = page_size(request.page_size, 100, _MOST_DOCUMENTS)
        with known_failures():
            store, collection = await self._readable(request.collection)
            name = await store.documents.name_of(collection.id, request.document)
            document = await store.documents.get(collection.id, name)
            version = document.ingested_at.isoformat()
            begun, _, first = read_token(request.page_token).partition("/")
            at = int(first) if _ORDINAL.fullmatch(first) else 0
            found = await store.passages.listed(collection.id, document, at, size)
            if begun not in {"", version} or not found:
                raise InvalidRequestError(
                    f"{name!r} was ingested again meanwhile. List its passages from the first."
                )
            more = at + size < document.chunks
            return pb.ListPassagesResponse(
                passages=[passage_message(collection, each) for each in found],
                next_page_token=write_token(f"{version}/{at + size}") if more else "",
            )

    async def ListDocuments(
        self, request: pb.ListDocumentsRequest, context: Context
    ) -> pb.ListDocumentsResponse:
        """List one page of documents."""
        size = page_size(request.page_size, 100, _MOST_DOCUMENTS)
        with known_failures():
            store, collection = await self._readable(request.collection)
            after = read_token(request.page_token)
            found = await store.documents.listed(collection.id, after, size)
            more = len(found) == size and await store.documents.listed(
                collection.id, found[-1].name, 1
            )
            return pb.ListDocumentsResponse(
                documents=[document_message(collection, each) for each in found],
                next_page_token=write_token(found[-1].name) if more else "",
            )

    async def DeleteDocument(
        self, request: pb.DeleteDocumentRequest, context: Context
    ) -> pb.DeleteDocumentResponse:
        """Delete one document."""
        with known_failures():
            store, collection = await self._changeable(request.collection)
            name = await store.documents.name_of(collection.id, request.name)
            await store.documents.delete(collection.id, name)
            return pb.DeleteDocumentResponse()

    async def SearchCollection(
        self, request: pb.SearchCollectionRequest, context: Context
    ) -> pb.SearchCollectionResponse:
        """Find passages."""
        check_search(request)
        where = wanted(request)
        with known_failures():
            store, collection = await self._readable(request.collection)
            found = await store.passages.search(
                collection.id,
                request.query[:_LONGEST_QUERY],
                top_k=request.top_k or _DEFAULT_TOP_K,
                threshold=request.threshold,
                mode=_MODES[request.mode],
                where=where,
                options=_options(request),
            )
            return pb.SearchCollectionResponse(
                passages=[passage_message(collection, each) for each in found]
            )

    async def SearchPages(
        self, request: pb.SearchPagesRequest, context: Context
    ) -> pb.SearchPagesResponse:
        """Find pages."""
        check_page_search(request)
        where = wanted_pages(request)
        with known_failures():
            store, collection = await self._readable(request.collection)
            query = request.query[:_LONGEST_QUERY]
            top_k = request.top_k or _DEFAULT_PAGES
            found = await store.pages.search(collection.id, query, top_k=top_k, where=where)
            model = store.pages.model
            return pb.SearchPagesResponse(
                pages=[page_message(collection, page) for page in found],
                model=model.name,
                visual=model.visual,
            )

    async def GetPagePicture(
        self, request: pb.GetPagePictureRequest, context: Context
    ) -> pb.GetPagePictureResponse:
        """Get the picture of one page."""
        with known_failures():
            store, collection = await self._readable(request.collection)
            if collection.backend != EMBEDDED:
                raise NotFoundError(
                    f"There are no pictures of pages in the collection {collection.name!r}."
                )
            name = await store.documents.name_of(collection.id, request.document)
            found = await store.pages.picture(collection.id, name, request.page)
            return pb.GetPagePictureResponse(
                data=found.data, media_type=found.MEDIA_TYPE, sha256=found.sha256
            )

    async def _readable(self, reference: str) -> "tuple[KnowledgeStore, Collection]":
        """Return the store, and the collection that the caller means and may read."""
        store = await self._store()
        known = await store.collections.all()
        return store, meant(known.values(), caller_of(caller().identity), reference)

    async def _changeable(self, reference: str) -> "tuple[KnowledgeStore, Collection]":
        """Return the store, and the collection that the caller means and may change."""
        store = await self._store()
        known = await store.collections.all()
        return store, changeable(known.values(), caller_of(caller().identity), reference)


async def _counted(store: "KnowledgeStore", collection: Collection) -> pb.Collection:
    here = collection.backend == EMBEDDED
    size = await store.collections.size(collection.id) if here else None
    return collection_message(collection, size)


def _options(request: pb.SearchCollectionRequest) -> SearchOptions:
    return SearchOptions(
        recency_weight=request.recency_weight,
        vector_weight=request.vector_weight if request.HasField("vector_weight") else None,
        fusion="reciprocal_rank" if request.fusion == pb.FUSION_RECIPROCAL_RANK else "convex",
        reranking=_RERANKINGS[request.reranking],
    )
