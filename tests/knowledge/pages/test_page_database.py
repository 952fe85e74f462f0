"""What is kept of pages, and what a crash in the middle leaves."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
from heddle_knowledge.pages.page_database import PageDatabase
from heddle_knowledge.pages.shapes import DrawnPage, Figure

WRITERS = 6
LOOM, FELT = "a" * 64, "b" * 64
MEAN = np.eye(4, dtype=np.float32)[0]
FIGURE = Figure("Fig. 1", "10K", (0.1, 0.2, 0.3, 0.4))


@pytest.fixture
def page_database(tmp_path: Path) -> PageDatabase:
    return PageDatabase(tmp_path / "1.pages")


def words(*places: int) -> np.ndarray:
    """Return a vector of length 1 along each of some axes."""
    return np.eye(4, dtype=np.float16)[list(places)]


def put(page_database: PageDatabase, sha256: str, page: int, text: str, *places: int) -> None:
    drawn = DrawnPage(page, f"picture {page}".encode(), text, (FIGURE,))
    page_database.add(sha256, [drawn], [words(*places)])


def test_pages_come_back_as_they_were(page_database: PageDatabase) -> None:
    assert page_database.expect(LOOM, "1", 2) == [1, 2]
    put(page_database, LOOM, 1, "A shed is a gap.", 0, 1)
    (kept,) = page_database.read(page_database.matching("gap", 9), 4)
    assert (kept.sha256, kept.page, kept.text) == (LOOM, 1, "A shed is a gap.")
    assert kept.figures == (FIGURE,)
    assert np.array_equal(kept.words, words(0, 1))
    found = page_database.picture(LOOM, 1)
    assert found is not None
    assert found.data == b"picture 1"
    assert page_database.pictured([LOOM, FELT]) == {(LOOM, 1)}
    assert page_database.picture(LOOM, 2) is None
    assert page_database.picture(FELT, 1) is None


def test_what_was_interrupted_goes_on_where_it_was(
    page_database: PageDatabase, tmp_path: Path
) -> None:
    page_database.expect(LOOM, "1", 3)
    put(page_database, LOOM, 2, "A gap.", 0)
    again = PageDatabase(tmp_path / "1.pages")
    assert not again.is_whole(LOOM, "1")
    assert again.expect(LOOM, "1", 3) == [1, 3]
    put(again, LOOM, 2, "Another gap.", 1)  # by an ingestion that had not seen it
    assert [page.text for page in again.read(again.matching("gap", 9), 4)] == ["A gap."]
    assert again.finish(LOOM)
    assert again.is_whole(LOOM, "1")


def test_pages_of_another_maker_give_way(page_database: PageDatabase) -> None:
    page_database.expect(LOOM, "1", 1)
    put(page_database, LOOM, 1, "A gap.", 0)
    assert page_database.makers() == {"1"}
    assert page_database.expect(LOOM, "2", 1) == [1]
    assert page_database.matching("gap", 9) == {}
    assert page_database.makers() == {"2"}


def test_forgotten_pages_are_gone_from_every_search(page_database: PageDatabase) -> None:
    for sha256 in (LOOM, FELT):
        page_database.expect(sha256, "1", 1)
        put(page_database, sha256, 1, "A gap.", 0)
    assert len(page_database.nearest(MEAN, 9)) == 2
    page_database.forget([LOOM])
    assert len(page_database.nearest(MEAN, 9)) == 1
    assert [page.sha256 for page in page_database.read(page_database.matching("gap", 9), 4)] == [
        FELT
    ]
    assert page_database.page(LOOM, 1) is None
    assert page_database.page(FELT, 1) is not None
    assert list(page_database.documents()) == [FELT]
    assert not page_database.finish(LOOM)


def test_an_empty_shelf_answers_and_leaves_no_file(
    page_database: PageDatabase, tmp_path: Path
) -> None:
    assert page_database.matching("gap", 9) == {}
    assert page_database.read([1], 4) == []
    assert page_database.documents() == {}
    assert page_database.page(LOOM, 1) is None
    assert not page_database.is_whole(LOOM, "1")
    assert len(page_database.nearest(MEAN, 9)) == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("query", ['"', 'gap" OR *', "NEAR(gap", "-", "ga*", "text: gap", "'; --"])
def test_no_question_is_taken_for_a_query_of_the_database(
    page_database: PageDatabase, query: str
) -> None:
    page_database.expect(LOOM, "1", 1)
    put(page_database, LOOM, 1, "A gap.", 0)
    assert len(page_database.matching(query, 9)) <= 1


def test_the_least_common_word_counts_most(page_database: PageDatabase) -> None:
    page_database.expect(LOOM, "1", 3)
    for page, text in enumerate(("The gap of the shed", "The warp", "The weft"), 1):
        put(page_database, LOOM, page, text, 0)
    found = {
        page.id: page.page for page in page_database.read(page_database.matching("the gaps", 9), 4)
    }
    assert found[next(iter(page_database.matching("the gaps", 9)))] == 1


def test_a_deleted_shelf_takes_its_file_along(page_database: PageDatabase, tmp_path: Path) -> None:
    page_database.expect(LOOM, "1", 1)
    assert list(tmp_path.iterdir())
    page_database.remove()
    assert list(tmp_path.iterdir()) == []


def test_the_first_documents_of_a_collection_wait_for_each_other(tmp_path: Path) -> None:
    """Without the wait, five of a hundred new files were locked for one of six writers."""
    barrier = Barrier(WRITERS)

    def write(database: PageDatabase, number: int) -> bool:
        barrier.wait()
        database.expect(f"sha256-{number}", "maker", 2)
        return database.finish(f"sha256-{number}")

    with ThreadPoolExecutor(WRITERS) as threads:
        for attempt in range(200):
            database = PageDatabase(tmp_path / f"{attempt}.pages")
            assert all(threads.map(write, [database] * WRITERS, range(WRITERS)))
            assert len(list(database.documents())) == WRITERS
