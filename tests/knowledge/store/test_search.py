"""Searching: real questions on real text with the real model, and the rules of scores."""

from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from heddle_knowledge.collection.types import Mode
from heddle_knowledge.embedders.local_embedders import LocalEmbedder
from heddle_knowledge.store import KnowledgeStore
from knowledge.store.places import Place
from knowledge.store.vector_indexes import is_indexed
from runtime.examples import mostly_on

from benchmarks.retrieval.hashing_embedder import HashingEmbedder

HELP = ("phases", "dates", "hgignore", "pager", "patterns", "urls", "diffs", "evolution")
QUESTIONS = [
    ("How do I keep my commits secret, so that they are not pushed?", "phases.txt"),
    ("Which formats can I write a date in?", "dates.txt"),
    ("How can I stop untracked files from showing up in status?", "hgignore.txt"),
    ("How do I turn off paging of long output?", "pager.txt"),
    ("What is the difference between glob and regular expression file matching?", "patterns.txt"),
    ("Can I reach a repository over ssh?", "urls.txt"),
    ("Why should I use the git extended diff format?", "diffs.txt"),
    ("What happens to obsolete changesets?", "evolution.txt"),
]


@pytest.fixture(scope="module")
def help_folder() -> Path:
    spec = find_spec("mercurial")
    assert spec
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]) / "helptext"


@pytest.fixture
async def store(place: Place) -> AsyncIterator[KnowledgeStore]:
    async with place.store(HashingEmbedder()) as opened:
        await opened.collections.create("docs")
        yield opened


async def put(store: KnowledgeStore, name: str, text: str, collection: str = "docs") -> None:
    async for _ in store.documents.ingest(collection, name, text.encode()):
        pass


@pytest.mark.exhaustive
async def test_questions_find_their_page_in_real_text(place: Place, help_folder: Path) -> None:
    async with LocalEmbedder() as embedder, place.store(embedder) as store:
        await store.collections.create("hg")
        for name in HELP:
            await put(store, f"{name}.txt", (help_folder / f"{name}.txt").read_text(), "hg")
        modes: list[tuple[Mode, int]] = [("hybrid", 7), ("vector", 7), ("text", 6)]
        for mode, wanted in modes:
            answers = [
                [
                    p.document
                    for p in await store.passages.search("hg", question, top_k=3, mode=mode)
                ]
                for question, _ in QUESTIONS
            ]
            pages = [page for _, page in QUESTIONS]
            first = sum(found[0] == page for found, page in zip(answers, pages, strict=True))
            assert first >= wanted, (mode, answers)
            assert all(page in found for found, page in zip(answers, pages, strict=True)), answers
        related = await store.passages.search("hg", QUESTIONS[0][0], top_k=5, threshold=0.3)
        assert related
        assert all(passage.score >= 0.3 for passage in related)
        assert (
            await store.passages.search("hg", "chocolate cake recipe", top_k=5, threshold=0.3) == []
        )
        best = related[0]
        assert best.heading
        assert best.text in best.parent_text


async def test_passages_come_by_relevance_and_carry_the_cosine(store: KnowledgeStore) -> None:
    texts = ["apple " * n + "pear " * (30 - n) + "plum " * 60 for n in range(30)]
    await put(store, "fruit", "\n\n".join(texts))
    embedder = HashingEmbedder()
    (query,) = await embedder.embed(["apple"], "query")
    modes: list[Mode] = ["hybrid", "vector", "text"]
    for mode in modes:
        found = await store.passages.search("docs", "apple", top_k=10, mode=mode)
        assert len(found) == 10
        assert [p.relevance for p in found] == sorted((p.relevance for p in found), reverse=True)
        passages = await embedder.embed([p.text for p in found], "passage")
        assert np.allclose([p.score for p in found], passages @ query, atol=1e-5)
        limit = sorted(p.score for p in found)[5] if mode != "text" else -1.0
        kept = await store.passages.search("docs", "apple", top_k=10, mode=mode, threshold=limit)
        assert all(p.score >= limit for p in kept)
        assert {p.ordinal for p in found if p.score >= limit} <= {p.ordinal for p in kept}


async def test_passages_that_say_the_same_are_shown_once(store: KnowledgeStore) -> None:
    rule = (
        "Whoever borrows a loom from the workshop returns it clean and dry within {} days, or pays "
    )
    rule += "a fee for each day that it is late, unless the teacher has agreed to a longer loan."
    await put(store, "rules.txt", rule.format(10))
    await put(store, "rules (copy).txt", rule.format(10).replace("Whoever", "Who"))
    await put(store, "rules of last year.txt", rule.format(20))
    await put(store, "other.txt", "A loom holds the warp.")

    shown = await store.passages.search("docs", "borrow a loom", top_k=3)

    assert sorted("10 days" in each.text for each in shown) == [False, False, True]
    assert {"other.txt", "rules of last year.txt"} < {each.document for each in shown}


async def test_a_passage_that_only_its_words_match_is_found_by_hybrid(
    store: KnowledgeStore,
) -> None:
    await put(store, "code", "The error code E4711 means that the belt is loose. " * 8)
    others = (f"The error code number {n} means something. " * 10 for n in range(80))
    await put(store, "others", "\n\n".join(others))
    found = await store.passages.search("docs", "E4711", top_k=1)
    assert found[0].document == "code"


async def test_what_was_just_ingested_is_found_by_words_before_and_after_upkeep(
    store: KnowledgeStore,
) -> None:
    await put(store, "a", "heddles guide the warp")
    await store.tidy("docs")
    await put(store, "b", "shuttles carry the weft")
    for _ in range(2):
        for word, name in (("warp", "a"), ("weft", "b")):
            found = await store.passages.search("docs", word, top_k=5, mode="text")
            assert [p.document for p in found] == [name]
        await store.tidy("docs")


ODD_QUERIES = [
    '"',
    "the of a",
    "AND OR NOT",
    "a:b^2 (x",
    "*",
    "\0",
    "\ud800 x",
    "é語🙂",
    "x" * 100_000,
]


@pytest.mark.parametrize("mode", ["hybrid", "text"])
async def test_odd_queries_are_only_words(store: KnowledgeStore, mode: Mode) -> None:
    await put(store, "a", "some text")
    for query in ODD_QUERIES:
        found = await store.passages.search("docs", query, top_k=3, mode=mode)
        assert len(found) == (mode == "hybrid"), query


async def test_blank_queries_and_empty_collections_find_nothing(store: KnowledgeStore) -> None:
    assert await store.passages.search("docs", "text", top_k=3) == []
    await put(store, "a", "some text")
    assert await store.passages.search("docs", " \n", top_k=3) == []


@mostly_on("place", "postgresql", "folder")
async def test_large_collections_get_an_approximate_index_that_misses_little(
    place: Place,
) -> None:
    async with place.store(HashingEmbedder(), ann_rows=300) as store:
        await store.collections.create("docs")
        text = "\n\n".join(f"word{n} word{n // 7} word{n // 3} " + "x " * 150 for n in range(400))
        await put(store, "a", text)
        exact = await store.passages.search("docs", "word7 word21", top_k=20, mode="vector")
        assert not await is_indexed(place, store, "docs")
        await store.tidy("docs")
        assert await is_indexed(place, store, "docs")
        near = await store.passages.search("docs", "word7 word21", top_k=20, mode="vector")
        assert len({p.ordinal for p in near} & {p.ordinal for p in exact}) >= 18
        await put(store, "b", "word7 word21 new")
        assert (await store.passages.search("docs", "word7 word21 new", top_k=1))[0].document == "b"
