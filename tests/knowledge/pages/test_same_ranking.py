"""Pages are ranked as SQLite's FTS5 ranks them, in a file as in PostgreSQL."""

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest
from heddle_knowledge.embedders.embedding import unit
from heddle_knowledge.pages.collection_pages import CollectionPages
from heddle_knowledge.pages.shapes import DrawnPage
from heddle_knowledge.pages.words import TOKENIZER, words_of
from knowledge.pages.conftest import COLLECTION, Address

DIM = 32
PAGES = 120
STEMS = ("heddle", "shed", "weave", "warp", "weft", "loom", "naïve", "felt", "the", "of", "and")
WORDS = [*STEMS, *(f"{stem}s" for stem in STEMS), *(f"{stem}ing" for stem in STEMS), "foo_bar"]
DOCUMENTS = ["a" * 64, "b" * 64, "c" * 64]
_RISING = range(1, 1 + len(WORDS))
Pages = dict[tuple[str, int], str]


def pages_of(dice: random.Random) -> Pages:
    """Return the text of each page of each document."""
    return {
        # Some words are on nearly all pages, others on few.
        (sha256, number): " ".join(
            dice.choices(
                WORDS, k=dice.choice([0, 3, 40, 400]), cum_weights=range(1, 1 + len(WORDS))
            )
        )
        for sha256 in DOCUMENTS
        for number in range(1, PAGES + 1)
    }


async def fill(pages: CollectionPages, texts: Pages) -> None:
    """Store pages with random vectors, and delete the last document."""
    noise = np.random.default_rng(20_261_126)
    for sha256 in DOCUMENTS:
        drawn = [DrawnPage(page, b"", text) for (of, page), text in texts.items() if of == sha256]
        vectors = [
            unit(noise.normal(size=(9 if each.text else 0, DIM)).astype(np.float32))
            for each in drawn
        ]
        await pages.expect(sha256, "1", PAGES)
        await pages.add(sha256, drawn, [each.astype(np.float16) for each in vectors])
    await pages.forget(DOCUMENTS[2:])


@pytest.fixture
def index() -> Iterator[sqlite3.Connection]:
    """An index of FTS5, empty."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(
            "CREATE VIRTUAL TABLE texts USING fts5 (sha256 UNINDEXED, page UNINDEXED, text, "
            f"tokenize = '{TOKENIZER}')"
        )
        yield database


def ranked(index: sqlite3.Connection, query: str, only: list[str]) -> Pages:
    match = " OR ".join(f'"{word}"' for word in words_of(query))
    rows = index.execute(
        "SELECT sha256, page, -rank FROM texts WHERE texts MATCH ? ORDER BY rank", (match,)
    )
    return {(sha256, page): score for sha256, page, score in rows if sha256 in only}


@pytest.mark.parametrize("address", ["folder", "database"], indirect=True)
async def test_words_find_the_same_pages_with_the_same_scores_as_fts5(
    address: Address, index: sqlite3.Connection
) -> None:
    dice = random.Random(20_261_126)  # noqa: S311 - no secrets
    texts = pages_of(dice)
    for (sha256, page), text in texts.items():
        if sha256 != DOCUMENTS[2]:
            index.execute("INSERT INTO texts VALUES (?, ?, ?)", (sha256, page, text))
    async with address.opened() as place:
        pages = place.of(COLLECTION)
        await fill(pages, texts)
        for _ in range(15):
            query = " ".join(dice.choices([*WORDS, "unknown"], k=dice.randint(1, 9)))
            only = dice.choice([None, DOCUMENTS[:1]])
            expected = ranked(index, query, only or DOCUMENTS)
            question = await pages.search.question(query)
            scores = await pages.search.matching(question, 1_000, only)
            stored = await pages.search.read(scores, DIM)
            by_page = {(each.sha256, each.page): scores[each.id] for each in stored}
            assert by_page == pytest.approx(expected, rel=1e-9)
            few = await pages.search.matching(question, 10, only)
            assert list(few.values()) == pytest.approx(list(expected.values())[:10], rel=1e-3)


@pytest.mark.parametrize("address", ["folder", "database"], indirect=True)
async def test_the_nearest_pages_are_those_of_the_wanted_documents(address: Address) -> None:
    async with address.opened() as place:
        pages = place.of(COLLECTION)
        await fill(pages, pages_of(random.Random(1)))  # noqa: S311 - no secrets
        mean = np.eye(DIM, dtype=np.float32)[0]
        every = await pages.search.read(await pages.search.nearest(mean, 20), DIM)
        only = await pages.search.read(await pages.search.nearest(mean, 20, DOCUMENTS[:1]), DIM)
    assert {each.sha256 for each in every} == set(DOCUMENTS[:2])
    assert {each.sha256 for each in only} == set(DOCUMENTS[:1])
    assert min(each.words.astype(np.float32).mean(axis=0)[0] for each in every) > 0
