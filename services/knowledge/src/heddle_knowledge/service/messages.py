"""Collections as records and as messages of the contract."""

from heddle.knowledge.v1 import knowledge_pb2 as pb

from heddle_knowledge.collection.names import document_id
from heddle_knowledge.collection.types import (
    Collection,
    CollectionSize,
    Document,
    Passage,
)
from heddle_knowledge.pages.shapes import DrawnPage, StoredPage

_DECIMALS = 6  # of what is computed in single precision: how depends on the index and on neighbours


def collection_message(
    collection: Collection, size: CollectionSize | None, *, changeable: bool
) -> pb.Collection:
    """Return a collection as a caller sees it; `size` is None if another backend holds it."""
    message = pb.Collection(
        name=collection.name,
        title=collection.title,
        backend=collection.backend,
        settings=collection.settings,
        embedding_model=collection.model,
        document_count=size.documents if size else 0,
        id=collection.public_id,
        organization=collection.organization,
        owner=collection.owner,
        sharing=pb.Sharing.Value(f"SHARING_{collection.sharing.upper()}"),
        page_handling=pb.PageHandling.Value(f"PAGE_HANDLING_{collection.page_handling.upper()}"),
        graph=collection.graph,
        metadata=collection.metadata,
        language=collection.language,
        changeable=changeable,
    )
    message.chunking.target_characters = collection.chunking.target
    message.chunking.overlap_characters = collection.chunking.overlap
    message.chunking.parent_characters = collection.chunking.parent
    message.create_time.FromDatetime(collection.created_at)
    return message


def page_message(
    collection: Collection,
    document: Document,
    page: DrawnPage | StoredPage,
    *,
    score: float = 0.0,
) -> pb.PageMatch:
    """Return a page of a document as callers see it."""
    return pb.PageMatch(
        document=document.name,
        document_id=document_id(collection.id, document.name),
        title=document.title,
        uri=document.uri,
        page=page.page,
        score=score,
        text=page.text,
        figures=page.figures,
        collection_id=collection.public_id,
        collection_name=collection.name,
    )


def document_message(collection: Collection, document: Document) -> pb.Document:
    """Return a document as callers see it."""
    message = pb.Document(
        id=document_id(collection.id, document.name),
        name=document.name,
        title=document.title,
        uri=document.uri,
        media_type=document.media_type,
        sha256=document.sha256,
        passage_count=document.chunks,
        page_count=document.pages,
        size=document.size,
        metadata=document.metadata,
    )
    message.ingest_time.FromDatetime(document.ingested_at)
    message.document_time.FromDatetime(document.document_time or document.ingested_at)
    return message


def passage_message(collection: Collection, passage: Passage) -> pb.Passage:
    """Return a passage as callers see it."""
    document = document_id(collection.id, passage.document)
    message = pb.Passage(
        id=f"{document}:{passage.ordinal}",
        document_id=document,
        text=passage.text,
        similarity=round(passage.score, _DECIMALS),
        relevance=round(passage.relevance, _DECIMALS),
        document=passage.document,
        title=passage.title,
        uri=passage.uri,
        headings=passage.heading,
        page=passage.page or 0,
        ordinal=passage.ordinal,
        parent_text=passage.parent_text,
        start_offset=passage.start,
        end_offset=passage.end,
        metadata=passage.metadata,
        has_picture=passage.has_picture,
        vector_rank=passage.vector_rank,
        text_rank=passage.text_rank,
        text_score=passage.text_score,
    )
    if passage.document_time is not None:
        time = passage.document_time  # FromDatetime needs longer than all other fields together
        message.document_time.seconds = int(time.replace(microsecond=0).timestamp())
        message.document_time.nanos = time.microsecond * 1_000
    return message
