"""Routes for the documents in a vector store: passages, pages and counts."""

from functools import cache
from typing import Annotated, Any

from heddle.knowledge.v1 import knowledge_pb2
from pydantic import Field, create_model

from heddle_gateway.http.models import DocumentedAs, ListQuery, Model
from heddle_gateway.openai.chunking import to_strategy
from heddle_gateway.openai.vector_store_files import AttachedFileId, document_of
from heddle_gateway.openai.vector_stores import PAGE_HANDLINGS, PageHandling, VectorStoreId
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import call
from heddle_gateway.transcoding.messages import writer
from heddle_gateway.transcoding.schemas import described_as, response_model

MAX_PARTS = 1_000_000_000
_STATISTICS = knowledge_pb2.GetCollectionStatisticsResponse.DESCRIPTOR
_PASSAGES = knowledge_pb2.ListPassagesResponse.DESCRIPTOR
_PAGES = knowledge_pb2.ListPagesResponse.DESCRIPTOR
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


class SearchServer(Model):
    """A server with collections of its own."""

    name: str
    backend: str = Field(description="`chroma`, `qdrant` or `weaviate`.")


class Options(Model):
    """What a new vector store can be created with."""

    embedding_models: list[str] = Field(description="The default first.")
    reranking_model: str | None = Field(
        description="The model that can rank results once more; null if there is none."
    )
    languages: list[str] = Field(
        description="Languages of the full-text search; `und` matches words as they are written."
    )
    page_handlings: list[PageHandling]
    chunking_strategy: dict[str, object] = Field(description="How files are split by default.")
    search_servers: list[SearchServer] = Field(
        description="Servers of the organisation whose collections can be searched as stores."
    )


@cache
def _page_list() -> type[Model]:
    """Return the model that describes a list of pages."""
    base = response_model(_PAGES)
    return create_model("PageList", __base__=base, __doc__=base.__doc__, document_id=(str, ...))


@routes.get("/v1/vector_store_options")
async def options(api: Call) -> Options:
    """Get what a new vector store can be created with."""
    request = knowledge_pb2.GetCollectionOptionsRequest()
    response = await call(api.services.knowledge.GetCollectionOptions, request)
    return Options(
        embedding_models=list(response.embedding_models),
        reranking_model=response.reranking_model or None,
        languages=list(response.languages),
        page_handlings=[PAGE_HANDLINGS[each] for each in response.page_handlings],
        chunking_strategy=to_strategy(response.default_chunking),
        search_servers=[SearchServer.of(each) for each in response.search_servers],
    )


@routes.get("/v1/vector_stores/{id}/statistics", errors=(400, 404))
async def statistics(
    api: Call, id_: VectorStoreId
) -> Annotated[dict[str, Any], described_as(_STATISTICS)]:
    """Count what a vector store holds."""
    request = knowledge_pb2.GetCollectionStatisticsRequest(collection=id_)
    counts = await call(api.services.knowledge.GetCollectionStatistics, request)
    return writer(_STATISTICS)(counts)


@routes.get("/v1/vector_stores/{id}/files/{file}/passages", errors=(400, 404))
async def passages(
    api: Call, id_: VectorStoreId, file: AttachedFileId, query: PassageQuery
) -> Annotated[dict[str, Any], described_as(_PASSAGES)]:
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
    return writer(_PASSAGES)(response)


@routes.get("/v1/vector_stores/{id}/files/{file}/pages", errors=(400, 404))
async def pages(
    api: Call, id_: VectorStoreId, file: AttachedFileId, query: PageListQuery
) -> Annotated[dict[str, Any], DocumentedAs(factory=_page_list)]:
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
    return {**writer(_PAGES)(response), "document_id": document.id}
