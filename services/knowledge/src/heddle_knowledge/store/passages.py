"""The passages of a store: listed, found by meaning and words."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from heddle_runtime.rpc.ttl_cache import TTLCache
from heddle_runtime.serving.fair_slots import NOBODY

from heddle_knowledge.collection.handle import CollectionHandle
from heddle_knowledge.collection.tables import list_passages
from heddle_knowledge.collection.types import (
    Collection,
    Document,
    Mode,
    Passage,
    SearchOptions,
)
from heddle_knowledge.embedders.embedding import Embedder, EmbedderInfo, Vectors
from heddle_knowledge.embedders.tracing import traced_embedding
from heddle_knowledge.engines.conditions import EVERYTHING, Condition
from heddle_knowledge.engines.word_forms import word_forms
from heddle_knowledge.errors import RerankingError
from heddle_knowledge.ingestion.embedding_batches import Batches
from heddle_knowledge.searching.candidates import Question, Searched, SearchedTable
from heddle_knowledge.searching.relevance import is_relevant
from heddle_knowledge.searching.search import find
from heddle_knowledge.store.context import StoreContext

_AS_USUAL = SearchOptions()
_QUERY_SECONDS = 600.0
_MAX_QUERIES = 1_024
"""Queries whose vectors are kept, 4 kB each: searches of several collections share them."""


class Passages:
    """The passages of all embedded collections.

    Every method that takes a collection raises `CollectionNotFoundError` if there is none, and
    `ForeignBackendError` if another backend holds it.
    """

    def __init__(self, context: StoreContext) -> None:
        self._context = context
        self._queries: TTLCache[tuple[EmbedderInfo, str], Sequence[Vectors]] = TTLCache(
            _QUERY_SECONDS, _MAX_QUERIES
        )
        self._batches = Batches("query")

    async def search(
        self,
        collection: str | Collection,
        query: str,
        *,
        top_k: int,
        threshold: float = 0.0,
        mode: Mode = "hybrid",
        where: Condition = EVERYTHING,
        options: SearchOptions = _AS_USUAL,
    ) -> list[Passage]:
        """Find passages for a question.

        Args:
            collection: The collection; its record, if it has been read for this call.
            query: The question; as many of its tokens count for the meaning as the model reads.
            top_k: At most so many passages.
            threshold: Leave out passages whose `score`, the cosine similarity, is lower. 0 leaves
                out none, so that a match by words alone is not lost unasked, and in the mode
                `text` no number does.
            mode: `hybrid` by meaning and words, `vector` by meaning, `text` by words (BM25).
            where: Which passages may be found.
            options: How they are ordered.

        Returns:
            Passages of documents as they are now, the most relevant first; none for a blank query.

        Raises:
            EmbedderMismatchError: Another embedder filled it.
            RerankingError: The options ask for a reranking model, and there is none.
            EmbeddingError: The embedder or the reranking model failed.
        """
        handle, embedder = await self._context.searchable(collection)
        if options.reranking == "model" and self._context.reranker is None:
            raise RerankingError(
                "No reranking model is configured. Configure one, or search without."
            )
        query = query.encode(errors="replace").decode().strip()
        if not query:
            return []
        request = query, top_k, threshold, mode, where, options
        (vector,) = await self._embedded(query, embedder)
        async with handle.using():
            snapshot = await self._context.snapshots.of(handle)
            answer = snapshot.answer(request) if snapshot else None
            if answer is not None:
                return list(answer)
            forms, reranker = word_forms(query, handle.collection.language), self._context.reranker
            question = Question(query, forms, vector, mode, options, reranker, where)
            passages = await find(
                snapshot or SearchedTable(handle.table),
                question,
                anew=partial(self._searched, handle),
                top_k=top_k,
                threshold=threshold,
            )
        if options.only_relevant and not is_relevant(query, passages, embedder.info()):
            passages = []
        passages = await self._with_pictures(handle, passages)
        if snapshot and not (options.recency_weight or options.reranking == "model"):
            # If the collection has changed meanwhile, no search reads this copy again.
            snapshot.keep(request, tuple(passages))
        return passages

    async def listed(
        self, collection: str, document: Document, first: int = 0, limit: int = 100
    ) -> list[Passage]:
        """Return the passages of a document from an ordinal on; their scores are 0.

        Args:
            collection: The collection.
            document: As `Documents.get` returned it; of another version there are none.
            first: The ordinal of the first passage.
            limit: At most so many.
        """
        handle = await self._context.open(collection)
        async with handle.using():
            passages = await list_passages(handle.table, document, first, limit)
        return await self._with_pictures(handle, passages)

    async def aclose(self) -> None:
        """End; queries that are not embedded fail."""
        await self._batches.aclose()

    async def _searched(self, handle: CollectionHandle) -> Searched:
        """Return what holds the passages of a collection as they are now."""
        snapshot = await self._context.snapshots.of(handle)
        return SearchedTable(handle.table) if snapshot is None else snapshot

    async def _embedded(self, query: str, embedder: Embedder) -> Sequence[Vectors]:
        """Return the vector of a query, of shape [dim], in a list."""
        return await self._queries.get(
            (embedder.info(), query),
            lambda: traced_embedding(
                self._batches.embedded(embedder, [query], tenant=NOBODY), embedder
            ),
        )

    async def _with_pictures(
        self, handle: CollectionHandle, passages: list[Passage]
    ) -> list[Passage]:
        contents = {passage.sha256 for passage in passages if passage.page}
        if not contents:
            return passages
        drawn = await self._context.pages.place.of(handle.collection.id).pictured(contents)
        return [
            replace(each, has_picture=(each.sha256, each.page) in drawn) if each.page else each
            for each in passages
        ]
