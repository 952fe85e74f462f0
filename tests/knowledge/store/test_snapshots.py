"""Collections that are searched in memory: what they find is what their tables hold now."""

import asyncio
import gc
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
from heddle_knowledge.collection.types import SearchOptions
from heddle_knowledge.engines.conditions import Tag
from heddle_knowledge.searching import snapshots
from heddle_knowledge.searching.snapshot import Snapshot
from heddle_knowledge.searching.words import WordIndex
from heddle_knowledge.store import KnowledgeStore, open_store
from knowledge.store.putting import put

from benchmarks.retrieval.hashing_embedder import HashingEmbedder

QUESTIONS = ("warp", "loom heddle", "nothing of that")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[KnowledgeStore]:
    async with open_store(tmp_path / "store", HashingEmbedder()) as opened:
        await opened.collections.create("docs")
        yield opened


def copies() -> list[Snapshot]:
    gc.collect()
    return [each for each in gc.get_objects() if isinstance(each, Snapshot)]


async def documents(store: KnowledgeStore, question: str, **more: object) -> list[str]:
    passages = await store.passages.search("docs", question, top_k=20, **more)  # type: ignore[arg-type]  # options of the method
    return [each.document for each in passages]


async def test_a_search_sees_what_another_replica_has_written_and_deleted(
    store: KnowledgeStore, tmp_path: Path
) -> None:
    await put(store, "a", "the warp")
    assert await documents(store, "warp") == ["a"]
    async with open_store(tmp_path / "store", HashingEmbedder()) as other:
        await put(other, "b", "warp and weft")
        assert sorted(await documents(store, "warp")) == ["a", "b"]
        await other.documents.delete("docs", "a")
        assert await documents(store, "warp") == ["b"]
        await put(other, "b", "the shuttle")
        assert await documents(store, "warp", mode="text") == []
        assert await documents(store, "shuttle", mode="text") == ["b"]


async def test_memory_and_engine_give_the_same_order_and_scores(tmp_path: Path) -> None:
    orders = []
    for number, budget in enumerate((snapshots.BUDGET, 0)):
        async with open_store(
            tmp_path / str(number), HashingEmbedder(), search_bytes=budget
        ) as store:
            await store.collections.create("docs")
            for at in range(40):
                await put(
                    store, f"d{at}", f"warp {at} " + "loom " * (at % 7) + "heddle " * (at % 5)
                )
            await store.tidy("docs")
            orders.append([await order(store, question) for question in QUESTIONS])
    for in_memory, of_engine in zip(*orders, strict=True):
        for one, other in zip(in_memory, of_engine, strict=True):
            assert one[0] == other[0]
            assert np.allclose(one[1], other[1], atol=1e-5)
            assert one[2] == other[2] or np.isclose(one[2] or 0, other[2] or 0, rtol=0.02)


async def order(store: KnowledgeStore, question: str) -> list[tuple[str, float, float | None]]:
    """Return the documents that a question finds, with their scores and those of their words."""
    passages = await store.passages.search("docs", question, top_k=10)
    return [(each.document, each.score, each.text_score) for each in passages]


async def test_equal_questions_are_answered_once_for_each_version_filter_and_option(
    store: KnowledgeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches = 0
    find = Snapshot.find

    async def counted(self: Snapshot, *question: object) -> object:
        nonlocal searches
        searches += 1
        return await find(self, *question)  # type: ignore[arg-type]  # as it came

    monkeypatch.setattr(Snapshot, "find", counted)
    await put(store, "a", "the warp", metadata={"kind": "x"})
    for _ in range(3):
        assert await documents(store, "warp") == ["a"]
    assert searches == 1
    assert await documents(store, "warp", where=Tag("kind", ("y",))) == []
    assert await documents(store, "warp", where=Tag("kind", ("x",))) == ["a"]
    assert await documents(store, "warp", mode="vector") == ["a"]
    assert searches == 4
    for _ in range(2):  # the time of the question counts
        assert await documents(store, "warp", options=SearchOptions(recency_weight=0.5)) == ["a"]
    assert searches == 6
    await put(store, "b", "another warp")
    assert sorted(await documents(store, "warp")) == ["a", "b"]
    assert searches == 7


async def test_copies_stay_within_the_budget_and_the_oldest_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_store(tmp_path, HashingEmbedder(), search_bytes=2**20) as store:
        for name in ("one", "two", "three"):
            await store.collections.create(name)
            await put(store, "a", "x " * 60_000, name)
            await store.passages.search(name, "x", top_k=1)
            assert sum(each.nbytes for each in copies()) <= 2**20
        assert copies()
    monkeypatch.setattr(snapshots, "IN_MEMORY_PASSAGES", 1)
    del store
    async with open_store(tmp_path, HashingEmbedder()) as store:
        assert await store.passages.search("one", "x", top_k=1)
        assert copies() == []


async def test_a_collection_that_changes_all_the_time_is_left_to_its_engine(
    store: KnowledgeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "_REST", 1e6)
    await put(store, "a", "the warp")
    assert await documents(store, "warp") == ["a"]
    await put(store, "b", "the warp")
    assert sorted(await documents(store, "warp")) == ["a", "b"]
    assert copies() == []  # nothing of what was there before stays


async def test_searches_at_once_share_a_copy(store: KnowledgeStore) -> None:
    await put(store, "a", "the warp")
    results = await asyncio.gather(*(documents(store, f"warp {n}") for n in range(8)))
    assert results == [["a"]] * 8
    assert len(copies()) == 1


@pytest.mark.parametrize(
    ("language", "text", "question"),
    [
        ("en", "The weavers were weaving", "weaver"),
        ("de", "Die Häuser", "haus"),
        ("fr", "naïve façon", "NAIVE"),
        ("sv", "Vävarna", "vävare"),
        ("ja", "織機の使い方", "織機"),
        ("und", "exact words", "words"),
    ],
)
def test_words_are_cut_as_their_language_says(language: str, text: str, question: str) -> None:
    index = WordIndex(["other", text], language)
    none, some = index.scores(question)
    assert none == 0
    assert some > 0
    assert not index.scores("").any()
    assert WordIndex([], language).scores(question).tolist() == []
