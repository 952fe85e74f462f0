"""Collections as records and as messages of the contract."""

from types import MappingProxyType
from typing import Any

from heddle.knowledge.v1 import knowledge_pb2 as pb

from heddle_tools_service.knowledge.names import document_id
from heddle_tools_service.knowledge.records import (
    Chunking,
    Collection,
    CollectionSize,
    FoundPage,
    PageHandling,
    Sharing,
    Statistics,
)

SHARINGS: dict[pb.Sharing.ValueType, Sharing] = {
    pb.SHARING_UNSPECIFIED: "private",
    pb.SHARING_PRIVATE: "private",
    pb.SHARING_ORGANIZATION: "organization",
    pb.SHARING_EVERYONE: "everyone",
}
_PAGES: dict[pb.PageHandling.ValueType, PageHandling] = {
    pb.PAGE_HANDLING_UNSPECIFIED: "pictures",
    pb.PAGE_HANDLING_TEXT: "text",
    pb.PAGE_HANDLING_PICTURES: "pictures",
    pb.PAGE_HANDLING_SEARCH: "search",
}
_TOLD_SHARINGS = {name: number for number, name in SHARINGS.items()}
_TOLD_PAGES = {name: number for number, name in _PAGES.items()}


def treatment(asked: pb.Collection) -> dict[str, Any]:
    """Return the fields of a record that say how the documents of a new collection are treated."""
    default, given = Chunking(), asked.chunking
    return {
        "sharing": SHARINGS[asked.sharing],
        "chunking": Chunking(
            given.target_characters or default.target,
            given.overlap_characters,
            given.parent_characters or max(default.parent, given.target_characters),
        ),
        "page_handling": _PAGES[asked.page_handling],
        "late_interaction": asked.late_interaction,
        "graph": asked.graph,
        "metadata": MappingProxyType(dict(asked.metadata)),
    }


def collection_message(collection: Collection, size: CollectionSize | None) -> pb.Collection:
    """Return a collection as callers see it; `size` is None if another backend holds it."""
    told = pb.Collection(
        name=collection.name,
        title=collection.title,
        backend=collection.backend,
        settings=collection.settings,
        embedding_model=collection.model,
        document_count=size.documents if size else 0,
        id=collection.public_id,
        organization=collection.organization,
        owner=collection.owner,
        sharing=_TOLD_SHARINGS[collection.sharing],
        page_handling=_TOLD_PAGES[collection.page_handling],
        late_interaction=collection.late_interaction,
        graph=collection.graph,
        metadata=collection.metadata,
    )
    told.chunking.target_characters = collection.chunking.target
    told.chunking.overlap_characters = collection.chunking.overlap
    told.chunking.parent_characters = collection.chunking.parent
    told.create_time.FromDatetime(collection.created_at)
    return told


def page_message(collection: Collection, found: FoundPage) -> pb.PageMatch:
    """Return a page that was found as callers see it."""
    document, ranked = found.document, found.ranked
    return pb.PageMatch(
        document=document.name,
        document_id=document_id(collection.id, document.name),
        title=document.title,
        uri=document.uri,
        page=ranked.page,
        score=ranked.score,
        relevance=ranked.relevance,
        text=ranked.text,
        figures=[pb.Figure(caption=it.caption, text=it.text, box=it.box) for it in ranked.figures],
    )


def statistics_message(counted: Statistics) -> pb.GetCollectionStatisticsResponse:
    """Return what a collection holds as callers see it."""
    told = pb.GetCollectionStatisticsResponse(
        document_count=counted.documents,
        passage_count=counted.chunks,
        document_bytes=counted.document_bytes,
        stored_bytes=counted.stored_bytes,
        documents_by_media_type=counted.by_media_type,
    )
    if counted.last_ingested_at is not None:
        told.last_ingest_time.FromDatetime(counted.last_ingested_at)
    return told
