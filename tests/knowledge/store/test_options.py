"""What a search may ask for besides: weights, fusion, reranking; and a collection: its model."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from heddle_knowledge.collection.types import Mode, SearchOptions
from heddle_knowledge.embedders.embedding import Vectors
from heddle_knowledge.embedders.late_interaction import interaction, packed
from heddle_knowledge.embedders.local_embedders import MiniLmEmbedder
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
LATE = SearchOptions(reranking="late_interaction")


class ShortestFirst:
    """A reranking model that likes short texts, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    async def rerank(self, query: str, texts: Sequence[str]) -> Scores:
        self.asked.append((query, len(texts)))
        return np.array([-len(text) for text in texts], dtype=np.float32)


class WordsByHash(HashingEmbedder):
    """Every word by itself is a vector, as if it stood alone."""

    async def embed_words(self, query: str) -> Vectors:
        return await self.embed(query.split(), "query")

    async def embed_with_words(self, passages: Sequence[str]) -> tuple[Vectors, list[bytes]]:
        words = [packed(await self.embed(each.split(), "query")) for each in passages]
        return await self.embed(passages, "passage"), words


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[KnowledgeStore]:
    others = [HashingEmbedder(dim=32, model="small")]
    async with open_store(
        tmp_path, WordsByHash(), others=others, reranker=ShortestFirst()
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


async def test_fusion_by_places_gives_relevance_of_places(store: KnowledgeStore) -> None:
    options = SearchOptions(fusion="reciprocal_rank")
    found = await store.passages.search("docs", "barking dog", top_k=4, options=options)
    assert found[0].document == "dog"
    assert found[0].relevance == pytest.approx(1.0)


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
        with pytest.raises(RerankingError, match="late_interaction"):
            await names(store, "x", LATE)
        with pytest.raises(RerankingError, match="reranking model"):
            await names(store, "x", SearchOptions(reranking="model"))
        with pytest.raises(InvalidInputError, match="single words"):
            await store.collections.create("late", late_interaction=True)


async def test_late_interaction_moves_passages_by_their_words(store: KnowledgeStore) -> None:
    await store.collections.create("late", late_interaction=True)
    await fill(store, "late")
    query = "warm dog tax"
    plain = await store.passages.search("late", query, top_k=4, mode="vector")
    late = await store.passages.search("late", query, top_k=4, mode="vector", options=LATE)
    embedder = WordsByHash()
    _, words = await embedder.embed_with_words([passage.text for passage in late])
    exact = interaction(await embedder.embed_words(query), words)
    cosine = np.array([passage.score for passage in late])
    blended = 0.7 * (cosine - cosine.min()) / np.ptp(cosine)
    blended += 0.3 * (exact - exact.min()) / np.ptp(exact)
    assert np.allclose([passage.relevance for passage in late], blended, atol=1e-4)
    assert {p.document: p.score for p in late} == {p.document: p.score for p in plain}


async def test_the_model_finds_the_word_that_a_question_means(tmp_path: Path) -> None:
    async with MiniLmEmbedder() as embedder, open_store(tmp_path, embedder) as store:
        await store.collections.create("late", late_interaction=True)
        await fill(store, "late")
        assert (await names(store, "a kitten naps", LATE, collection="late"))[0] == "cat"
        found = await embedder.embed_words("a kitten")
        assert found.shape[1] == 384
        assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)


async def test_every_collection_is_searched_with_its_own_model(store: KnowledgeStore) -> None:
    made = await store.collections.create("little", embedding_model="small")
    assert (made.model, made.dim) == ("small", 32)
    await fill(store, "little")
    for collection in ("docs", "little"):
        found = await store.passages.search(collection, ANIMALS["cat"], top_k=1, mode="vector")
        assert found[0].document == "cat"
        assert found[0].score == pytest.approx(1.0, abs=1e-4)


async def test_a_model_that_is_not_on_offer_is_refused_with_those_that_are(
    store: KnowledgeStore,
) -> None:
    with pytest.raises(InvalidInputError, match=r"'huge'.*'hashed-words', 'small'"):
        await store.collections.create("big", embedding_model="huge")
