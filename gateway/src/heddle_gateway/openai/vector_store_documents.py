"""Routes for the documents in a vector store: passages, pages and counts."""

from typing import Annotated, Literal

from heddle.knowledge.v1 import knowledge_pb2
from pydantic import Field

from heddle_gateway.http.models import ListQuery, Model, Timestamp
from heddle_gateway.openai.chunking import to_strategy
from heddle_gateway.openai.vector_store_files import AttachedFileId, document_of
from heddle_gateway.openai.vector_stores import PAGE_HANDLINGS, PageHandling, VectorStoreId
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import call

MAX_PARTS = 1_000_000_000
_Number = Annotated[int | None, Field(description="Counted from 1; null without pages.")]
routes = Routes("vector stores")


class PassageQuery(ListQuery):
    """The query of the list of passages."""

    first: int = Field(
        default=0,
        ge=0,
        le=MAX_PARTS,
        description="The position to begin with, instead of `page_token`.",
    )


class PageListQuery(ListQuery):
    """The query of the list of pages."""

    first: int = Field(
        default=1,
        ge=1,
        le=MAX_PARTS,
        description="The number to begin with, instead of `page_token`.",
    )


class StoredPassage(Model):
    """A passage of a document."""

    id: str
    document_id: str
    text: str
    page: _Number
    position: int = Field(description="Its place in the document, counted from 0.")
    start: int = Field(description="Where it begins in the document, in characters.")
    end: int = Field(description="Where it ends, exclusive.")
    headings: list[str] = Field(description="The headings above it, outermost first.")
    metadata: dict[str, str]
    has_picture: bool = Field(description="Whether there is a picture of its page.")


class PassagePage(Model):
    """Some passages of a document, in their order."""

    object: Literal["list"] = "list"
    data: list[StoredPassage]
    total: int = Field(description="The number of passages of the document.")
    next_page_token: str = Field(description="Empty on the last page.")


class StoredPage(Model):
    """A page of a document."""

    number: int = Field(description="Counted from 1.")
    text: str = Field(
        description="At most 16,000 characters: what was recognised on the page, otherwise its "
        "passages."
    )
    has_image: bool = Field(description="Whether `…/pages/{page}` returns a picture of it.")
    passages: int = Field(description="The number of its passages.")


class PageList(Model):
    """Some pages of a document, in their order."""

    object: Literal["list"] = "list"
    document_id: str
    data: list[StoredPage]
    total: int = Field(description="The number of pages of the document.")
    next_page_token: str = Field(description="Empty on the last page.")


class Statistics(Model):
    """Counts of a vector store."""

    documents: int
    passages: int
    pages: int = Field(description="Pages that have a picture.")
    document_bytes: int = Field(description="Bytes of the documents.")
    stored_bytes: int = Field(description="Bytes on disk, 0 if unknown.")
    documents_by_media_type: dict[str, int]
    last_ingested: Timestamp


class Options(Model):
    """What a new vector store can be created with."""

    embedding_models: list[str] = Field(description="The default first.")
    languages: list[str] = Field(
        description="Languages of the full-text search; `und` matches words as they are written."
    )
    page_handlings: list[PageHandling]
    chunking_strategy: dict[str, object] = Field(description="How files are split by default.")


@routes.get("/v1/vector_store_options")
async def options(api: Call) -> Options:
    """Get what a new vector store can be created with."""
    request = knowledge_pb2.GetCollectionOptionsRequest()
    response = await call(api.services.knowledge.GetCollectionOptions, request)
    return Options(
        embedding_models=list(response.embedding_models),
        languages=list(response.languages),
        page_handlings=[PAGE_HANDLINGS[each] for each in response.page_handlings],
        chunking_strategy=to_strategy(response.default_chunking),
    )


@routes.get("/v1/vector_stores/{id}/statistics", errors=(400, 404))
async def statistics(api: Call, id_: VectorStoreId) -> Statistics:
    """Count what a vector store holds."""
    request = knowledge_pb2.GetCollectionStatisticsRequest(collection=id_)
    counts = await call(api.services.knowledge.GetCollectionStatistics, request)
    return Statistics(
        documents=counts.document_count,
        passages=counts.passage_count,
        pages=counts.page_count,
        document_bytes=counts.document_bytes,
        stored_bytes=counts.stored_bytes,
        documents_by_media_type=dict(counts.documents_by_media_type),
        last_ingested=counts.last_ingest_time.seconds,
    )


@routes.get("/v1/vector_stores/{id}/files/{file}/passages", errors=(400, 404))
async def passages(
    api: Call, id_: VectorStoreId, file: AttachedFileId, query: PassageQuery
) -> PassagePage:
    """List the passages of a file as they were split, for those who may search its store.

    All pages of a list are of one version of the file; if it changes meanwhile, the next page is
    refused, and the list begins anew.
    """
    request = knowledge_pb2.ListPassagesRequest(
        collection=id_,
        document=await document_of(api.services, id_, file),
        page_size=query.page_size,
        page_token=query.page_token,
        first_ordinal=query.first,
    )
    response = await call(api.services.knowledge.ListPassages, request)
    return PassagePage(
        data=[_passage(each) for each in response.passages],
        total=response.passage_count,
        next_page_token=response.next_page_token,
    )


@routes.get("/v1/vector_stores/{id}/files/{file}/pages", errors=(400, 404))
async def pages(
    api: Call, id_: VectorStoreId, file: AttachedFileId, query: PageListQuery
) -> PageList:
    """List the pages of a file, for those who may search its store; none if it has no pages.

    `…/pages/{page}` with `document_id` as the file returns the picture of a page.
    """
    name = await document_of(api.services, id_, file)
    document_request = knowledge_pb2.GetDocumentRequest(collection=id_, name=name)
    document = (await call(api.services.knowledge.GetDocument, document_request)).document
    request = knowledge_pb2.ListPagesRequest(
        collection=id_,
        document=name,
        page_size=query.page_size,
        page_token=query.page_token,
        first_page=query.first,
    )
    response = await call(api.services.knowledge.ListPages, request)
    data = [
        StoredPage(
            number=each.page,
            text=each.text,
            has_image=each.has_picture,
            passages=each.passage_count,
        )
        for each in response.pages
    ]
    return PageList(
        document_id=document.id,
        data=data,
        total=response.page_count,
        next_page_token=response.next_page_token,
    )


def _passage(passage: knowledge_pb2.Passage) -> StoredPassage:
    return StoredPassage.of(
        passage,
        page=passage.page or None,
        position=passage.ordinal,
        start=passage.start_offset,
        end=passage.end_offset,
        headings=list(passage.headings),
        metadata=dict(passage.metadata),
    )
