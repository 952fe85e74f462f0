"""`POST /v1/vector_stores/{id}/search`: OpenAI's way to ask for passages."""

import asyncio
from typing import TYPE_CHECKING, Any

from heddle.knowledge.v1 import files_pb2, knowledge_pb2
from heddle_runtime.errors import NotFoundError
from heddle_runtime.struct_codec import from_struct

from heddle_gateway.http import validation
from heddle_gateway.http.body import read_object
from heddle_gateway.http.json_text import Place
from heddle_gateway.http.raw import RawRequest, RawResponse
from heddle_gateway.openai.files import TIMEOUT
from heddle_gateway.openai.search_filters import condition
from heddle_gateway.services import ask

if TYPE_CHECKING:
    from heddle_gateway.state import State

_MOST_QUERIES = 10
_MOST_RESULTS = 50
_DEFAULT_RESULTS = 10
_KNOWN = ("query", "filters", "max_num_results", "ranking_options", "rewrite_query")
_RANKERS = ("auto", "none", "default-2024-11-15")
_FILE_ID = "file_id"


async def search(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `POST /v1/vector_stores/{id}/search`."""
    given, place = await read_object(state, exchange)
    requests = _requests(exchange.parameter, given, place)
    found = await asyncio.gather(
        *(ask(state.services.knowledge.SearchCollection, each, TIMEOUT) for each in requests)
    )
    passages = _merged([list(each.passages) for each in found])[: requests[0].top_k]
    noted = await _attributes(state, exchange.parameter, passages)
    told = {
        "object": "vector_store.search_results.page",
        "search_query": [each.query for each in requests],
        "data": [_result(each, noted) for each in passages],
        "has_more": False,
        "next_page": None,
    }
    return RawResponse.json(told)


def _requests(
    store: str, given: dict[str, Any], place: Place
) -> list[knowledge_pb2.SearchCollectionRequest]:
    """Return the search of each query.

    Raises:
        InvalidRequestError: The body is wrong.
    """
    for name in given:
        if name not in _KNOWN:
            raise place.at(name).wrong("is not known here")
    rewrite = given.get("rewrite_query")
    if rewrite is not None and rewrite is not False:
        raise place.at("rewrite_query").wrong("must be false: questions are searched as they are")
    request = knowledge_pb2.SearchCollectionRequest(collection=store, top_k=_DEFAULT_RESULTS)
    if (most := given.get("max_num_results")) is not None:
        request.top_k = validation.whole(most, place, "max_num_results", low=1, high=_MOST_RESULTS)
    if (filters := given.get("filters")) is not None:
        request.filter.CopyFrom(condition(filters, place.at("filters")))
    if (ranking := given.get("ranking_options")) is not None:
        _rank(
            request,
            validation.mapping(ranking, place, "ranking_options"),
            place / "ranking_options",
        )
    requests = []
    for query in _queries(given.get("query"), place / "query"):
        each = knowledge_pb2.SearchCollectionRequest(query=query)
        each.MergeFrom(request)
        requests.append(each)
    return requests


def _queries(given: object, place: Place) -> list[str]:
    if not isinstance(given, list):
        return [validation.text(given, place, empty=False)]
    if not given:
        raise place.wrong("must not be empty")
    items = validation.items(given, place, most=_MOST_QUERIES)
    return [validation.text(each, place, index, empty=False) for index, each in enumerate(items)]


def _rank(
    request: knowledge_pb2.SearchCollectionRequest, ranking: dict[str, Any], place: Place
) -> None:
    if (ranker := ranking.get("ranker")) is not None:
        validation.choice(ranker, place, "ranker", among=_RANKERS)
    if ranker == "none":
        request.reranking = knowledge_pb2.RERANKING_NONE
    if (least := ranking.get("score_threshold")) is not None:
        request.threshold = validation.number(least, place, "score_threshold", low=0, high=1)
    if (hybrid := ranking.get("hybrid_search")) is not None:
        told, inside = validation.mapping(hybrid, place, "hybrid_search"), place / "hybrid_search"
        meaning, words = (
            validation.number(told.get(name), inside, name, low=0, high=1e6)
            for name in ("embedding_weight", "text_weight")
        )
        if not meaning + words:
            raise inside.wrong("must have a weight above 0")
        request.vector_weight = meaning / (meaning + words)


def _merged(found: list[list[knowledge_pb2.Passage]]) -> list[knowledge_pb2.Passage]:
    """Return the passages of several searches, each once; those of one stay in their order."""
    if len(found) == 1:
        return found[0]
    best: dict[str, knowledge_pb2.Passage] = {}
    for passage in (each for passages in found for each in passages):
        known = best.get(passage.id)
        if known is None or known.similarity < passage.similarity:
            best[passage.id] = passage
    return sorted(best.values(), key=lambda each: -each.similarity)


async def _attributes(
    state: "State", store: str, passages: list[knowledge_pb2.Passage]
) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return the names and attributes of attached files, as they were given, by identifier."""
    identifiers = {each.metadata[_FILE_ID] for each in passages if _FILE_ID in each.metadata}

    async def one(identifier: str) -> tuple[str, tuple[str, dict[str, Any]]] | None:
        request = files_pb2.GetAttachedFileRequest(collection=store, file_id=identifier)
        try:
            found = (await ask(state.services.files.GetAttachedFile, request, TIMEOUT)).file
        except NotFoundError:  # taken out meanwhile, or metadata of somebody's own making
            return None
        return identifier, (found.filename, from_struct(found.attributes))

    return dict(filter(None, await asyncio.gather(*map(one, sorted(identifiers)))))


def _result(
    passage: knowledge_pb2.Passage, noted: dict[str, tuple[str, dict[str, Any]]]
) -> dict[str, Any]:
    identifier = passage.metadata.get(_FILE_ID, "")
    if identifier in noted:
        filename, attributes = noted[identifier]
    else:
        identifier = passage.document_id
        filename, attributes = passage.document, dict(passage.metadata)
    return {
        "file_id": identifier,
        "filename": filename,
        "score": passage.similarity,
        "attributes": attributes,
        "content": [{"type": "text", "text": passage.text}],
    }
