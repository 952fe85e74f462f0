"""`POST /v1/vector_stores/{id}/search`."""

import asyncio
from typing import Annotated, Any, Literal

from heddle.knowledge.v1 import files_pb2, knowledge_pb2
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_runtime.contract.struct_codec import from_struct
from heddle_runtime.errors import NotFoundError, from_status
from pydantic import Field, model_validator

from heddle_gateway.http.error_responses import invalid
from heddle_gateway.http.models import Model, Name, OnlyFalse, StrictModel
from heddle_gateway.openai.vector_stores import VectorStoreId
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import ServiceClients, call

MAX_LEVELS = 8
MAX_FILTERS = 32
MAX_VALUES = 256
_OPERATORS = {
    "eq": pb.OPERATOR_EQUAL,
    "ne": pb.OPERATOR_NOT_EQUAL,
    "gt": pb.OPERATOR_GREATER,
    "gte": pb.OPERATOR_GREATER_OR_EQUAL,
    "lt": pb.OPERATOR_LESS,
    "lte": pb.OPERATOR_LESS_OR_EQUAL,
    "in": pb.OPERATOR_IN,
    "nin": pb.OPERATOR_NOT_IN,
}
Value = str | int | float | bool


class Comparison(Model):
    """A comparison of an attribute with a value."""

    type: Literal["eq", "ne", "gt", "gte", "lt", "lte"]
    key: Name
    value: Value


class Membership(Model):
    """A comparison of an attribute with several values."""

    type: Literal["in", "nin"]
    key: Name
    value: Annotated[list[Value], Field(min_length=1, max_length=MAX_VALUES)]


class Compound(Model):
    """A combination of filters, with at most eight levels."""

    type: Literal["and", "or"]
    filters: Annotated[list["AttributeFilter"], Field(min_length=1, max_length=MAX_FILTERS)]


AttributeFilter = Annotated[Comparison | Membership | Compound, Field(discriminator="type")]


def to_filter(
    condition: Comparison | Membership | Compound, path: str = "filters", level: int = 1
) -> pb.Filter:
    """Return a filter as the contract has it.

    Raises:
        InvalidRequestError: It has too many levels.
    """
    if not isinstance(condition, Compound):
        values = condition.value if isinstance(condition.value, list) else [condition.value]
        comparison = pb.Comparison(
            key=condition.key, operator=_OPERATORS[condition.type], values=map(_text, values)
        )
        return pb.Filter(comparison=comparison)
    if level == MAX_LEVELS:
        raise invalid(path, f"is nested more than {MAX_LEVELS} levels deep")
    inner = pb.Filters(
        filters=[
            to_filter(each, f"{path}.filters[{index}]", level + 1)
            for index, each in enumerate(condition.filters)
        ]
    )
    return pb.Filter(all=inner) if condition.type == "and" else pb.Filter(any=inner)


def _text(value: Value) -> str:
    """Return a value as it appears in the metadata of documents."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


_MAX_QUERIES = 10
_MAX_RESULTS = 50
_DEFAULT_RESULTS = 10
_RERANKINGS: dict[str | None, knowledge_pb2.Reranking.ValueType] = {
    "none": knowledge_pb2.RERANKING_NONE,
    "model": knowledge_pb2.RERANKING_MODEL,
}
_FILE_ID = "file_id"
_Weight = Annotated[float, Field(ge=0, le=1e6)]
routes = Routes("vector stores")


class HybridSearch(Model):
    """The weights of the vector search and the full-text search."""

    embedding_weight: _Weight
    text_weight: _Weight

    @model_validator(mode="after")
    def _check_weights(self) -> "HybridSearch":
        if not self.embedding_weight + self.text_weight:
            raise ValueError("must have a weight above 0")
        return self


class RankingOptions(Model):
    """How passages are ranked."""

    ranker: Literal["auto", "none", "default-2024-11-15", "model"] | None = Field(
        default=None,
        description="What reorders the best passages. Heddle adds `model`, its reranking model.",
    )
    score_threshold: Annotated[float, Field(ge=0, le=1)] | None = None
    hybrid_search: HybridSearch | None = None


class Search(StrictModel):
    """A search."""

    query: Name | Annotated[list[Name], Field(min_length=1, max_length=_MAX_QUERIES)] = Field(
        description="A question, or up to ten, whose passages are merged."
    )
    filters: AttributeFilter | None = None
    max_num_results: Annotated[int, Field(ge=1, le=_MAX_RESULTS)] | None = None
    ranking_options: RankingOptions | None = None
    rewrite_query: OnlyFalse | None = None
    explain: bool = Field(
        default=False,
        description="An extension of OpenAI's form: whether results tell how they were ranked, and "
        "where they are in their documents.",
    )


class TextContent(Model):
    """Text."""

    type: Literal["text"] = "text"
    text: str


class Rank(Model):
    """The place of a passage in one of the two searches."""

    rank: int = Field(description="Counted from 1.")
    score: float


class Explanation(Model):
    """How a passage was ranked, and where it is."""

    vector: Rank | None = Field(
        description="By meaning: its place among the passages that the search compared, and its "
        "cosine similarity."
    )
    text: Rank | None = Field(
        description="By words: its place and its BM25; null if no word of the question matches."
    )
    fused_score: float | None = Field(
        description="What orders the results, comparable within this search only."
    )
    passage_id: str
    document_id: str
    page: int | None = Field(description="Its page, counted from 1; null if there are no pages.")
    position: int | None = Field(description="Its place in the document, counted from 0.")
    headings: list[str] = Field(description="The headings above it, outermost first.")
    has_picture: bool = Field(description="Whether there is a picture of its page.")


class PassageResult(StrictModel):
    """A passage."""

    file_id: str
    filename: str
    score: float = Field(
        description="Cosine similarity; passages are ordered by the fusion of their ranks."
    )
    attributes: dict[str, Any]
    content: list[TextContent]


class ExplainedResult(PassageResult):
    """A passage, and how it was ranked."""

    explanation: Explanation


class SearchResults(Model):
    """The passages, the best first."""

    object: Literal["vector_store.search_results.page"] = "vector_store.search_results.page"
    search_query: list[str]
    data: list[ExplainedResult | PassageResult]
    has_more: Literal[False] = False
    next_page: None = None


@routes.post("/v1/vector_stores/{id}/search", errors=(404,))
async def search(api: Call, id_: VectorStoreId, body: Search) -> SearchResults:
    """Search for passages."""
    requests = _requests(id_, body)
    results = await asyncio.gather(*(search_collection(api.services, each) for each in requests))
    passages = _merged(results)[: requests[0].top_k]
    attributes = await _attributes(api.services, id_, passages)
    return SearchResults(
        search_query=[each.query for each in requests],
        data=[
            _explained(each, attributes) if body.explain else _result(each, attributes)
            for each in passages
        ],
    )


async def search_collection(
    services: ServiceClients, request: knowledge_pb2.SearchCollectionsRequest
) -> list[knowledge_pb2.Passage]:
    """Return the passages of a request that names one collection.

    Raises:
        HeddleError: The collection cannot be searched.
    """
    response = await call(services.knowledge.SearchCollections, request)
    (result,) = response.results
    if result.HasField("error"):
        raise from_status(result.error)
    return list(result.passages)


def _requests(store: str, body: Search) -> list[knowledge_pb2.SearchCollectionsRequest]:
    common = knowledge_pb2.SearchCollectionsRequest(
        collections=[store], top_k=body.max_num_results or _DEFAULT_RESULTS
    )
    if body.filters is not None:
        common.filter.CopyFrom(to_filter(body.filters))
    if (ranking := body.ranking_options) is not None:
        if ranking.ranker in _RERANKINGS:
            common.reranking = _RERANKINGS[ranking.ranker]
        if ranking.score_threshold is not None:
            common.threshold = ranking.score_threshold
        if (hybrid := ranking.hybrid_search) is not None:
            total = hybrid.embedding_weight + hybrid.text_weight
            common.vector_weight = hybrid.embedding_weight / total
    requests = []
    for query in [body.query] if isinstance(body.query, str) else body.query:
        request = knowledge_pb2.SearchCollectionsRequest(query=query)
        request.MergeFrom(common)
        requests.append(request)
    return requests


def _merged(results: list[list[knowledge_pb2.Passage]]) -> list[knowledge_pb2.Passage]:
    """Return the passages of several searches without duplicates; of one search in its order."""
    if len(results) == 1:
        return results[0]
    best: dict[str, knowledge_pb2.Passage] = {}
    for passage in (each for passages in results for each in passages):
        known = best.get(passage.id)
        if known is None or known.similarity < passage.similarity:
            best[passage.id] = passage
    return sorted(best.values(), key=lambda each: -each.similarity)


async def _attributes(
    services: ServiceClients, store: str, passages: list[knowledge_pb2.Passage]
) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return the names and attributes of attached files by identifier."""
    identifiers = {each.metadata[_FILE_ID] for each in passages if _FILE_ID in each.metadata}

    async def one(identifier: str) -> tuple[str, tuple[str, dict[str, Any]]] | None:
        request = files_pb2.GetAttachedFileRequest(collection=store, file_id=identifier)
        try:
            file = (await call(services.files.GetAttachedFile, request)).file
        except NotFoundError:  # detached meanwhile, or metadata that only looks like a file's
            return None
        return identifier, (file.filename, from_struct(file.attributes))

    return dict(filter(None, await asyncio.gather(*map(one, sorted(identifiers)))))


def _result(
    passage: knowledge_pb2.Passage, files: dict[str, tuple[str, dict[str, Any]]]
) -> PassageResult:
    identifier = passage.metadata.get(_FILE_ID, "")
    if identifier in files:
        filename, attributes = files[identifier]
    else:
        identifier = passage.document_id
        filename, attributes = passage.document, dict(passage.metadata)
    return PassageResult(
        file_id=identifier,
        filename=filename,
        score=passage.similarity,
        attributes=attributes,
        content=[TextContent(text=passage.text)],
    )


def _explained(
    passage: knowledge_pb2.Passage, files: dict[str, tuple[str, dict[str, Any]]]
) -> ExplainedResult:
    has_text, has_vector = passage.HasField("text_rank"), passage.HasField("vector_rank")
    explanation = Explanation(
        vector=Rank(rank=passage.vector_rank, score=passage.similarity) if has_vector else None,
        text=Rank(rank=passage.text_rank, score=passage.text_score) if has_text else None,
        fused_score=passage.relevance if passage.HasField("relevance") else None,
        passage_id=passage.id,
        document_id=passage.document_id,
        page=passage.page or None,
        position=passage.ordinal if passage.HasField("ordinal") else None,
        headings=list(passage.headings),
        has_picture=passage.has_picture,
    )
    return ExplainedResult(**_result(passage, files).model_dump(), explanation=explanation)
