"""`heddle.knowledge.v1.KnowledgeService`."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, TypeVar

from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle.knowledge.v1 import knowledge_pb2_grpc as pb_grpc
from heddle_runtime.boundary import Context
from heddle_runtime.paging import page_size, read_token, write_token

from heddle_tools_service.knowledge.failures import known_failures
from heddle_tools_service.knowledge.limits import check_collection, check_search
from heddle_tools_service.knowledge.records import (
    EMBEDDED,
    Collection,
    Document,
    IngestProgress,
    Mode,
    Passage,
    Reranking,
    SearchOptions,
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
_RERANKINGS: dict[pb.Reranking.ValueType, Reranking] = {
    pb.RERANKING_UNSPECIFIED: "none",
    pb.RERANKING_NONE: "none",
    pb.RERANKING_LATE_INTERACTION: "late_interaction",
    pb.RERANKING_MODEL: "model",
}
NamedT = TypeVar("NamedT", Collection, Document)


class KnowledgeServicer(pb_grpc.KnowledgeServiceServicer):
    """Translates between the contract and the engine."""

    def __init__(self, store: "Callable[[], Awaitable[KnowledgeStore]]") -> None:
        self._store = store

    async def CreateCollection(
        self, request: pb.CreateCollectionRequest, context: Context
    ) -> pb.CreateCollectionResponse:
        """Make a collection, or register one of a knowledge-base server."""
        asked = request.collection
        check_collection(asked)
        with known_failures():
            store = await self._store()
            made = await store.create_collection(
                asked.name,
                title=asked.title,
                backend=asked.backend or EMBEDDED,
                settings=dict(asked.settings),
                embedding_model=asked.embedding_model,
                late_interaction=asked.late_interaction,
            )
            return pb.CreateCollectionResponse(collection=await _counted(store, made))

    async def GetCollection(
        self, request: pb.GetCollectionRequest, context: Context
    ) -> pb.GetCollectionResponse:
        """Get one collection."""
        with known_failures():
            store = await self._store()
            found = await store.get_collection(request.name)
            return pb.GetCollectionResponse(collection=await _counted(store, found))

    async def ListCollections(
        self, request: pb.ListCollectionsRequest, context: Context
    ) -> pb.ListCollectionsResponse:
        """List one page of collections."""
        size = page_size(request.page_size, 50, _MOST_COLLECTIONS)
        with known_failures():
            store = await self._store()
            found = await store.list_collections(read_token(request.page_token), size + 1)
            counted = await asyncio.gather(*(_counted(store, item) for item in found[:size]))
            return pb.ListCollectionsResponse(
                collections=counted, next_page_token=_next(found, size)
            )

    async def DeleteCollection(
        self, request: pb.DeleteCollectionRequest, context: Context
    ) -> pb.DeleteCollectionResponse:
        """Delete a collection with everything in it."""
        with known_failures():
            await (await self._store()).delete_collection(request.name)
            return pb.DeleteCollectionResponse()

    async def IngestDocument(
        self, request: pb.IngestDocumentRequest, context: Context
    ) -> AsyncGenerator[pb.IngestDocumentResponse]:
        """Stream how far the ingestion is, then the document as it is kept."""
        with known_failures():
            store = await self._store()
            events = store.ingest(
                request.collection,
                request.name,
                request.data,
                media_type=request.media_type,
                uri=request.uri,
            )
            async with aclosing(events):
                async for event in events:
                    if not isinstance(event, IngestProgress):
                        kept = await store.get_document(request.collection, request.name)
                        ingested = pb.Ingested(
                            document=_kept(kept),
                            replaced=event.replaced,
                            unchanged=event.unchanged,
                        )
                        yield pb.IngestDocumentResponse(ingested=ingested)
                    elif event.stage == "embedding":  # the other stages do not count passages
                        progress = pb.IngestProgress(done=event.done, total=event.total)
                        yield pb.IngestDocumentResponse(progress=progress)

    async def ListDocuments(
        self, request: pb.ListDocumentsRequest, context: Context
    ) -> pb.ListDocumentsResponse:
        """List one page of documents."""
        size = page_size(request.page_size, 100, _MOST_DOCUMENTS)
        with known_failures():
            store = await self._store()
            after = read_token(request.page_token)
            found = await store.list_documents(request.collection, after, size)
            more = len(found) == size and await store.list_documents(
                request.collection, found[-1].name, 1
            )
            return pb.ListDocumentsResponse(
                documents=map(_kept, found),
                next_page_token=write_token(found[-1].name) if more else "",
            )

    async def DeleteDocument(
        self, request: pb.DeleteDocumentRequest, context: Context
    ) -> pb.DeleteDocumentResponse:
        """Delete one document."""
        with known_failures():
            await (await self._store()).delete_document(request.collection, request.name)
            return pb.DeleteDocumentResponse()

    async def SearchCollection(
        self, request: pb.SearchCollectionRequest, context: Context
    ) -> pb.SearchCollectionResponse:
        """Find passages."""
        check_search(request)
        with known_failures():
            found = await (await self._store()).search(
                request.collection,
                request.query[:_LONGEST_QUERY],
                top_k=request.top_k or _DEFAULT_TOP_K,
                threshold=request.threshold,
                mode=_MODES[request.mode],
                options=_options(request),
            )
            return pb.SearchCollectionResponse(passages=map(_passage, found))


async def _counted(store: "KnowledgeStore", collection: Collection) -> pb.Collection:
    count = 0
    if collection.backend == EMBEDDED:
        count = (await store.collection_size(collection.name)).documents
    return pb.Collection(
        name=collection.name,
        title=collection.title,
        backend=collection.backend,
        settings=collection.settings,
        embedding_model=collection.model,
        late_interaction=collection.late_interaction,
        document_count=count,
    )


def _options(request: pb.SearchCollectionRequest) -> SearchOptions:
    return SearchOptions(
        recency_weight=request.recency_weight,
        vector_weight=request.vector_weight if request.HasField("vector_weight") else None,
        fusion="reciprocal_rank" if request.fusion == pb.FUSION_RECIPROCAL_RANK else "convex",
        reranking=_RERANKINGS[request.reranking],
    )


def _kept(document: Document) -> pb.Document:
    return pb.Document(
        name=document.name,
        title=document.title,
        uri=document.uri,
        media_type=document.media_type,
        sha256=document.sha256,
        passage_count=document.chunks,
    )


def _passage(passage: Passage) -> pb.Passage:
    return pb.Passage(
        text=passage.text,
        similarity=passage.score,
        relevance=passage.relevance,
        document=passage.document,
        title=passage.title,
        uri=passage.uri,
        headings=passage.heading,
        page=passage.page or 0,
        ordinal=passage.ordinal,
        parent_text=passage.parent_text,
    )


def _next(found: Sequence[NamedT], size: int) -> str:
    return write_token(found[size - 1].name) if len(found) > size else ""
