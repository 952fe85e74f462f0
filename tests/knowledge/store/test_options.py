"""What a search may ask for besides: weights, reranking; and a collection: its model."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from heddle_knowledge.collection.types import Mode, SearchOptions
from heddle_knowledge.embedders.embedding import Kind, Vectors
from heddle_knowledge.errors import InvalidInputError, RerankingError
from heddle_knowledge.searching.ranking import Scores
from heddle_knowledge.store import KnowledgeStore, open_store

from benchmarks.retrieval.hashing_embedder import HashingEmbedder

ANIMALS = {
    "cat": "A cat sleeps on the warm windowsill all day.",
    "dog": "The dog is barking at the postman again.",
    "tax": "The income tax return is due in April.",
    "sale": "Sales tax is added to the price of a dog.",
}


class ShortestFirst:
    """A reranking model that likes short texts, and remembers what it was asked."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []

    async def rerank(self, query: str, texts: Sequence[str]) -> Scores:
        self.calls.append((query, len(texts)))
        return np.array([-len(text) for text in texts], dtype=np.float32)


class CountsQueries(HashingEmbedder):
    """Records the questions that it embeds."""

    def __init__(self) -> None:
        super().__init__()
        self.queries: list[str] = []

    async def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        if kind == "query":
            self.queries += texts
        await asyncio.sleep(0)
        return await super().embed(texts, kind)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[KnowledgeStore]:
    others = [HashingEmbedder(dim=32, model="small")]
    async with open_store(
        tmp_path, HashingEmbedder(), others=others, reranker=ShortestFirst()
    ) as opened:
        await opened.collections.create("docs")
        await fill(opened, "docs")
        yield opened


async def fill(store: KnowledgeStore, collection: str) -> None:
    for name, text in ANIMALS.items():
        async for _ in store.documents.ingest(collection, name, text.encode()):
            pass


async def names(
    store: KnowledgeStore,
    query: str,
    options: SearchOptions,
    mode: Mode = "hybrid",
    collection: str = "docs",
) -> list[str]:
    found = await store.passages.search(collection, query, top_k=4, mode=mode, options=options)
    relevance = [passage.relevance for passage in found]
    assert relevance == sorted(relevance, reverse=True)
    return [passage.document for passage in found]


async def test_a_weight_of_none_or_all_is_the_order_of_one_part(store: KnowledgeStore) -> None:
    query = "the dog and the tax"
    by_words = await names(store, query, SearchOptions(vector_weight=0.0))
    assert by_words[:3] == await names(store, query, SearchOptions(), "text")
    by_meaning = await names(store, query, SearchOptions(vector_weight=1.0))
    assert by_meaning == await names(store, query, SearchOptions(), "vector")


async def test_a_search_that_names_no_weight_has_the_one_of_the_contract(
    store: KnowledgeStore,
) -> None:
    query = "the dog and the tax"
    passages = await store.passages.search("docs", query, top_k=4)
    options = SearchOptions(vector_weight=0.7)
    assert passages == await store.passages.search("docs", query, top_k=4, options=options)


async def test_a_threshold_leaves_out_nothing_that_was_found_by_words(
    store: KnowledgeStore,
) -> None:
    found = await store.passages.search("docs", "tax", top_k=4, threshold=0.99, mode="text")
    assert {passage.document for passage in found} == {"tax", "sale"}
    assert await store.passages.search("docs", "tax", top_k=4, threshold=0.99) == []


@pytest.mark.parametrize("mode", ["hybrid", "vector"])
async def test_the_reranking_model_decides_the_order(store: KnowledgeStore, mode: Mode) -> None:
    options = SearchOptions(reranking="model")
    shortest = sorted(ANIMALS, key=lambda name: len(ANIMALS[name]))
    assert await names(store, "dog", options, mode) == shortest


async def test_a_reranking_that_cannot_be_had_is_refused(tmp_path: Path) -> None:
    async with open_store(tmp_path, HashingEmbedder()) as store:
        await store.collections.create("docs")
        with pytest.raises(RerankingError, match="reranking model"):
            await names(store, "x", SearchOptions(reranking="model"))


async def test_every_collection_is_searched_with_its_own_model(store: KnowledgeStore) -> None:
    made = await store.collections.create("little", embedding_model="small")
    assert (made.model, made.dim) == ("small", 32)
    await fill(store, "little")
    for collection in ("docs", "little"):
        found = await store.passages.search(collection, ANIMALS["cat"], top_k=1, mode="vector")
        assert found[0].document == "cat"
        assert found[0].score == pytest.approx(1.0, abs=1e-4)


async def test_collections_of_one_model_that_are_searched_together_embed_a_question_once(
    tmp_path: Path,
) -> None:
    embedder = CountsQueries()
    async with open_store(tmp_path, embedder) as store:
        for collection in ("one", "two", "three"):
            await store.collections.create(collection)
            await fill(store, collection)
        searches = (store.passages.search(each, "dog", top_k=1) for each in ("one", "two", "three"))
        results = await asyncio.gather(*searches)
        assert [passages[0].document for passages in results] == ["dog"] * 3
        assert embedder.queries == ["dog"]


async def test_a_model_that_is_not_on_offer_is_refused_with_those_that_are(
    store: KnowledgeStore,
) -> None:
    with pytest.raises(InvalidInputError, match=r"'huge'.*'hashed-words', 'small'"):
        await store.collections.create("big", embedding_model="huge")
