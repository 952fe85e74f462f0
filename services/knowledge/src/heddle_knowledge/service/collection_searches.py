"""Calls that search several collections, wherever each of them is."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from google.rpc.status_pb2 import Status
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_runtime.contract.limits import MAX_MESSAGE_BYTES
from heddle_runtime.errors import ResourceExhaustedError, to_status
from heddle_runtime.identity.call_metadata import Context
from heddle_runtime.rpc.organization_settings import may_trace_texts
from heddle_runtime.telemetry import content

from heddle_knowledge.collection.access import Owner, Reader, lender_of
from heddle_knowledge.collection.types import (
    DEFAULT_VECTOR_WEIGHT,
    EMBEDDED,
    FORMER_ID,
    Collection,
    SearchOptions,
)
from heddle_knowledge.errors import BackendError, CollectionNotFoundError, no_collection
from heddle_knowledge.external.collections import ENGINES
from heddle_knowledge.service.calls import (
    MAX_QUERY_CHARACTERS,
    Calls,
    check_collections,
    refuse,
)
from heddle_knowledge.service.failures import reason
from heddle_knowledge.service.filtering import search_condition
from heddle_knowledge.service.limits import search_violations
from heddle_knowledge.service.messages import passage_message
from heddle_knowledge.service.metrics import count_if_empty, describe_search, measured_search
from heddle_knowledge.service.requests import choice

if TYPE_CHECKING:  # loads the engine
    from heddle_knowledge.engines.conditions import Condition
    from heddle_knowledge.store import KnowledgeStore

_DEFAULT_TOP_K = 5
_CONCURRENT_SEARCHES = 8
_MAX_RESPONSE_BYTES = MAX_MESSAGE_BYTES - 1024 * 1024  # leaves room for errors and names


class CollectionSearchCalls(Calls):
    """The part of the contract about searches of several collections."""

    async def SearchCollections(
        self, request: pb.SearchCollectionsRequest, context: Context
    ) -> pb.SearchCollectionsResponse:
        """Search all collections at once; each has a result or an error of its own."""
        check_collections(request.collections)
        refuse(search_violations(request), "The search cannot be made.")
        where = search_condition(request)
        reader = self._reader()
        limit = asyncio.Semaphore(_CONCURRENT_SEARCHES)

        async def search(reference: str) -> pb.CollectionPassages:
            return await self._search(request, where, reader, reference)

        async def result_of(reference: str) -> pb.CollectionPassages:
            async with limit:
                result = await self._attempt(reference, search)
            if isinstance(result, Status):
                return pb.CollectionPassages(collection=reference, error=result)
            result.collection = reference
            return result

        first, *others = request.collections
        if others:
            results = await asyncio.gather(*map(result_of, request.collections))
        else:
            results = [await result_of(first)]
        return pb.SearchCollectionsResponse(results=_fitting(results))

    async def _search(
        self,
        request: pb.SearchCollectionsRequest,
        where: "Condition",
        reader: Reader,
        reference: str,
    ) -> pb.CollectionPassages:
        try:
            store, collection = await self._meant(reader.person, reference)
        except CollectionNotFoundError:
            return await self._search_sources(request, reader, reference)
        if collection.backend == EMBEDDED:
            options = await self._options(request, reader)
            search = partial(_search_store, store, collection, request, where, options)
            return await self._measured(store.engine, collection.public_id, request, reader, search)
        if collection.backend in ENGINES:
            search = partial(self._backends.external.search, collection, request, where)
            return await self._measured(
                collection.backend, collection.public_id, request, reader, search
            )
        identifier = collection.settings.get(FORMER_ID, collection.name)
        owner = lender_of(collection)
        return await self._search_source(collection.backend, request, reader, owner, identifier)

    async def _options(self, request: pb.SearchCollectionsRequest, reader: Reader) -> SearchOptions:
        """Return the options of a search, with the choice of its organisation."""
        model = self._backends.reranking_model
        reranking = choice(pb.Reranking.DESCRIPTOR, request.reranking, "none")
        if model and not request.reranking:
            chosen = await self._backends.external.chosen(reader.owner.organization)
            reranking = "model" if chosen.reranking_model == model else "none"
        has_weight = request.HasField("vector_weight")
        return SearchOptions(
            recency_weight=request.recency_weight,
            vector_weight=request.vector_weight if has_weight else DEFAULT_VECTOR_WEIGHT,
            reranking=reranking,
            only_relevant=request.only_relevant,
        )

    async def _search_sources(
        self, request: pb.SearchCollectionsRequest, reader: Reader, reference: str
    ) -> pb.CollectionPassages:
        missing = f"there is no collection {reference!r}, and "
        failure = no_collection(reference)
        for name in self._backends.sources:
            try:
                return await self._search_source(
                    name, request, reader, reader.owner, reference, missing
                )
            except CollectionNotFoundError as error:
                failure = error
        raise failure

    async def _search_source(
        self,
        backend: str,
        request: pb.SearchCollectionsRequest,
        reader: Reader,
        owner: Owner,
        identifier: str,
        missing: str = "",
    ) -> pb.CollectionPassages:
        source = self._backends.sources.get(backend)
        if source is None:
            raise BackendError(f"no backend is named {backend!r}")
        search = partial(source.search, owner, identifier, request, missing=missing)
        return await self._measured(backend, identifier, request, reader, search)

    async def _measured(
        self,
        engine: str,
        identifier: str,
        request: pb.SearchCollectionsRequest,
        reader: Reader,
        search: Callable[[int], Awaitable[pb.CollectionPassages]],
    ) -> pb.CollectionPassages:
        """Return what a search finds, with its span and its metrics."""
        top_k = request.top_k or _DEFAULT_TOP_K
        with measured_search(engine, reason):
            result = await search(top_k)
            describe_search(identifier, top_k, result.passages)
            await self._describe_texts(reader.owner, request.query, result.passages)
        count_if_empty(engine, result.passages)
        return result

    async def _describe_texts(
        self, owner: Owner, query: str, passages: Iterable[pb.Passage]
    ) -> None:
        """Add the question and what was found to the span of a search, if they may be in it."""
        if not content.is_on() or not await may_trace_texts(
            self._backends.settings, owner.organization, owner.name
        ):
            return
        documents = [
            {"id": f"{each.document}#{each.ordinal}", "score": each.similarity} for each in passages
        ]
        content.add({"gen_ai.retrieval.query.text": query, "gen_ai.retrieval.documents": documents})


def _fitting(results: Iterable[pb.CollectionPassages]) -> Iterator[pb.CollectionPassages]:
    """Yield results with an error for each that the response has no room for."""
    left = _MAX_RESPONSE_BYTES
    for result in results:
        if (size := result.ByteSize()) <= left:
            left -= size
            yield result
        else:
            error = ResourceExhaustedError("the passages of all collections are too large together")
            yield pb.CollectionPassages(collection=result.collection, error=to_status(error))


async def _search_store(
    store: "KnowledgeStore",
    collection: "Collection",
    request: pb.SearchCollectionsRequest,
    where: "Condition",
    options: SearchOptions,
    top_k: int,
) -> pb.CollectionPassages:
    passages = await store.passages.search(
        collection,
        request.query[:MAX_QUERY_CHARACTERS],
        top_k=top_k,
        threshold=request.threshold,
        mode=choice(pb.SearchMode.DESCRIPTOR, request.mode, "hybrid"),
        where=where,
        options=options,
    )
    return pb.CollectionPassages(
        collection_id=collection.public_id,
        collection_name=collection.name,
        passages=[passage_message(collection, passage) for passage in passages],
    )
