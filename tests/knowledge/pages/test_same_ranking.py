"""A folder and a database rank pages alike."""

import random

import numpy as np
import pytest
from heddle_knowledge.embedders.embedding import unit
from heddle_knowledge.pages.folder_pages import FolderPages
from heddle_knowledge.pages.models import PageModelInfo
from heddle_knowledge.pages.places import CollectionPages
from heddle_knowledge.pages.ranking import rank
from heddle_knowledge.pages.shapes import DrawnPage
from knowledge.pages.conftest import COLLECTION, Address

DIM = 32
PAGES = 120
MODEL = PageModelInfo("random", DIM, "1", visual=False)
STEMS = ("heddle", "shed", "weave", "warp", "weft", "loom", "naïve", "felt", "the", "of", "and")
WORDS = [*STEMS, *(f"{stem}s" for stem in STEMS), *(f"{stem}ing" for stem in STEMS), "foo_bar"]
DOCUMENTS = ["a" * 64, "b" * 64, "c" * 64]


@pytest.fixture
def twins(
    collection_pages: CollectionPages, address: Address
) -> tuple[CollectionPages, CollectionPages]:
    """The same random pages in a folder and in another place."""
    in_folder = FolderPages(address.folder / "twin").of(COLLECTION)
    dice = random.Random(20_261_126)  # noqa: S311 - no secrets
    noise = np.random.default_rng(20_261_126)
    for sha256 in DOCUMENTS:
        pages, words = [], []
        for number in range(1, PAGES + 1):
            length = dice.choice([0, 3, 40, 400])
            # Some words are on nearly all pages, others on few.
            text = " ".join(dice.choices(WORDS, k=length, cum_weights=range(1, len(WORDS) + 1)))
            pages.append(DrawnPage(number, b"", text))
            vectors = unit(
                noise.normal(size=(length and dice.randint(1, 9), DIM)).astype(np.float32)
            )
            words.append(vectors.astype(np.float16))
        for place in (in_folder, collection_pages):
            place.expect(sha256, "1", PAGES)
            place.add(sha256, pages, words)
            place.finish(sha256)
    in_folder.forget(DOCUMENTS[2:])
    collection_pages.forget(DOCUMENTS[2:])
    return in_folder, collection_pages


def places_of(pages: CollectionPages, ids: dict[int, float]) -> dict[tuple[str, int], float]:
    """Return scores by document and page instead of by id."""
    return {(page.sha256, page.page): ids[page.id] for page in pages.read(ids, DIM)}


@pytest.mark.parametrize("address", ["database"], indirect=True)
def test_the_same_questions_find_the_same_pages_in_the_same_order_with_the_same_scores(
    twins: tuple[CollectionPages, CollectionPages],
) -> None:
    in_folder, in_database = twins
    dice = random.Random(7)  # noqa: S311 - no secrets
    noise = np.random.default_rng(7)
    for _ in range(15):
        query = " ".join(dice.choices([*WORDS, "unknown"], k=dice.randint(1, 9)))
        only = dice.choice([None, DOCUMENTS[:1]])
        few = [list(place.matching(query, 10, only).values()) for place in twins]
        assert few[0] == pytest.approx(few[1], rel=1e-9)
        one, other = (place.matching(query, 1_000, only) for place in twins)
        assert places_of(in_folder, one) == pytest.approx(places_of(in_database, other), rel=1e-9)
        assert places_of(in_folder, in_folder.matched_words(query, one)) == pytest.approx(
            places_of(in_database, in_database.matched_words(query, other)), rel=1e-9
        )
        vectors = unit(noise.normal(size=(dice.randint(1, 9), DIM)).astype(np.float32))
        ranked = [rank(place, query, vectors, MODEL, only) for place in twins]
        one_order, other_order = (
            [(page.stored.sha256, page.stored.page) for page in pages] for pages in ranked
        )
        assert one_order == other_order
        one_scores, other_scores = ([page.score for page in pages] for pages in ranked)
        assert one_scores == pytest.approx(other_scores, rel=1e-6)
