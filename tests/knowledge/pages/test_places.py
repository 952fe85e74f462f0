"""Pages in each kind of place: what is stored of them, found and deleted."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
from heddle_knowledge.pages.folder_pages import FolderPages
from heddle_knowledge.pages.places import CollectionPages, PagePlace
from heddle_knowledge.pages.shapes import DrawnPage, Figure, StoredPage
from knowledge.pages.conftest import COLLECTION, Address

WRITERS = 6
LOOM, FELT = "a" * 64, "b" * 64
MEAN = np.eye(4, dtype=np.float32)[0]
NO_WORDS = np.empty((0, 0), np.float16)
OTHER = "2" * 32
FIGURE = Figure("Fig. 1", "10K", (0.1, 0.2, 0.3, 0.4))


def words(*places: int) -> np.ndarray:
    """Return a vector of length 1 along each of some axes."""
    return np.eye(4, dtype=np.float16)[list(places)]


def put(pages: CollectionPages, sha256: str, page: int, text: str, *places: int) -> None:
    drawn = DrawnPage(page, f"picture {page}".encode(), text, (FIGURE,))
    pages.add(sha256, [drawn], [words(*places)])


def search(pages: CollectionPages, query: str) -> list[StoredPage]:
    """Return the pages that have a word of a question."""
    return pages.read(pages.matching(query, 9), 4)


def test_pages_come_back_as_they_were(collection_pages: CollectionPages) -> None:
    assert collection_pages.expect(LOOM, "1", 2) == [1, 2]
    put(collection_pages, LOOM, 1, "A shed is a gap.", 0, 1)
    (stored,) = search(collection_pages, "gap")
    assert (stored.sha256, stored.page, stored.text) == (LOOM, 1, "A shed is a gap.")
    assert stored.figures == (FIGURE,)
    assert np.array_equal(stored.words, words(0, 1))
    picture = collection_pages.picture(LOOM, 1)
    assert picture is not None
    assert picture.data == b"picture 1"
    assert collection_pages.pictured([LOOM, FELT]) == {(LOOM, 1)}
    assert collection_pages.picture(LOOM, 2) is None
    assert collection_pages.picture(FELT, 1) is None


def test_what_was_interrupted_goes_on_where_it_was(
    collection_pages: CollectionPages, address: Address
) -> None:
    collection_pages.expect(LOOM, "1", 3)
    put(collection_pages, LOOM, 2, "A gap.", 0)
    with address.opened() as opened:
        _goes_on(opened.of(COLLECTION))


def _goes_on(again: CollectionPages) -> None:
    assert not again.is_whole(LOOM, "1")
    assert again.expect(LOOM, "1", 3) == [1, 3]
    put(again, LOOM, 2, "Another gap.", 1)  # by an ingestion that had not seen it
    assert [page.text for page in search(again, "gap")] == ["A gap."]
    assert again.finish(LOOM)
    assert again.is_whole(LOOM, "1")


def test_pages_of_another_maker_give_way(collection_pages: CollectionPages) -> None:
    collection_pages.expect(LOOM, "1", 1)
    put(collection_pages, LOOM, 1, "A gap.", 0)
    assert collection_pages.makers() == {"1"}
    assert collection_pages.expect(LOOM, "2", 1) == [1]
    assert collection_pages.matching("gap", 9) == {}
    assert collection_pages.makers() == {"2"}


def test_forgotten_pages_are_gone_from_every_search(collection_pages: CollectionPages) -> None:
    for sha256 in (LOOM, FELT):
        collection_pages.expect(sha256, "1", 1)
        put(collection_pages, sha256, 1, "A gap.", 0)
    assert len(collection_pages.nearest(MEAN, 9)) == 2
    collection_pages.forget([LOOM])
    assert len(collection_pages.nearest(MEAN, 9)) == 1
    assert [
        page.sha256 for page in collection_pages.read(collection_pages.matching("gap", 9), 4)
    ] == [FELT]
    assert collection_pages.page(LOOM, 1) is None
    assert collection_pages.page(FELT, 1) is not None
    assert list(collection_pages.documents()) == [FELT]
    assert not collection_pages.finish(LOOM)


def test_a_collection_without_pages_answers_and_leaves_no_trace(
    collection_pages: CollectionPages, page_place: PagePlace
) -> None:
    assert collection_pages.matching("gap", 9) == {}
    assert collection_pages.matched_words("gap", [1]) == {}
    assert collection_pages.read([1], 4) == []
    assert collection_pages.documents() == {}
    assert collection_pages.numbers(LOOM) == []
    assert collection_pages.page(LOOM, 1) is None
    assert collection_pages.whole_page(LOOM, 1) is None
    assert collection_pages.count_pictures() == 0
    assert not collection_pages.is_whole(LOOM, "1")
    assert len(collection_pages.nearest(MEAN, 9)) == 0
    assert page_place.collections() == set()


@pytest.mark.parametrize("query", ['"', 'gap" OR *', "NEAR(gap", "-", "ga*", "text: gap", "'; --"])
def test_no_question_is_taken_for_a_query_of_the_database(
    collection_pages: CollectionPages, query: str
) -> None:
    collection_pages.expect(LOOM, "1", 1)
    put(collection_pages, LOOM, 1, "A gap.", 0)
    assert len(collection_pages.matching(query, 9)) <= 1


def test_the_least_common_word_counts_most(collection_pages: CollectionPages) -> None:
    collection_pages.expect(LOOM, "1", 3)
    for page, text in enumerate(("The gap of the shed", "The warp", "The weft"), 1):
        put(collection_pages, LOOM, page, text, 0)
    page_numbers = {
        page.id: page.page
        for page in collection_pages.read(collection_pages.matching("the gaps", 9), 4)
    }
    assert page_numbers[next(iter(collection_pages.matching("the gaps", 9)))] == 1


def test_a_deleted_collection_leaves_no_trace_and_no_other_one_loses_pages(
    page_place: PagePlace, address: Address
) -> None:
    for collection in (COLLECTION, OTHER):
        pages = page_place.of(collection)
        pages.expect(LOOM, "1", 1)
        put(pages, LOOM, 1, "A gap.", 0)
    assert page_place.collections() == {COLLECTION, OTHER}
    page_place.drop(COLLECTION)
    assert page_place.collections() == {OTHER}
    assert page_place.of(COLLECTION).documents() == {}
    assert page_place.of(COLLECTION).matching("gap", 9) == {}
    assert page_place.of(OTHER).count_pictures() == 1
    if address.server:
        assert [key.split("/")[2] for key in address.keys] == [OTHER]
    page_place.drop(OTHER)
    assert address.keys == []
    assert not list(address.folder.glob("*")) or address.place


def test_collections_with_the_same_document_have_pages_of_their_own(
    page_place: PagePlace,
) -> None:
    mine, other = page_place.of(COLLECTION), page_place.of(OTHER)
    for pages, text in ((mine, "A gap."), (other, "A secret gap.")):
        pages.expect(LOOM, "1", 1)
        put(pages, LOOM, 1, text, 0)
    (page,) = search(mine, "secret gap")
    assert page.text == "A gap."
    assert mine.matching("secret", 9) == {}
    near = mine.nearest(MEAN, 9)
    assert [page.text for page in mine.read(near, 4)] == ["A gap."]
    mine.forget([LOOM])
    assert other.picture(LOOM, 1) is not None


def test_pages_are_copied_from_one_place_to_another(
    collection_pages: CollectionPages, tmp_path: Path
) -> None:
    copy = FolderPages(tmp_path / "copy").of(COLLECTION)
    collection_pages.expect(LOOM, "maker", 3)
    put(collection_pages, LOOM, 1, "A shed.", 0, 1)
    collection_pages.add(LOOM, [DrawnPage(3, b"", "", scanned=True)], [NO_WORDS])
    collection_pages.finish(LOOM)
    collection_pages.expect(FELT, "another", 2)
    for source, target in ((collection_pages, copy), (copy, collection_pages)):
        for document in source.documents().values():
            for number in target.expect(document.sha256, document.maker, document.pages):
                if (page := source.whole_page(document.sha256, number)) is not None:
                    target.add(document.sha256, [page.drawn], [page.words])
            if document.whole:
                target.finish(document.sha256)
        assert target.documents() == source.documents()
        assert target.numbers(LOOM) == source.numbers(LOOM) == [1, 3]
        for number in (1, 3):
            read, written = source.whole_page(LOOM, number), target.whole_page(LOOM, number)
            assert read is not None
            assert written is not None
            assert read.drawn == written.drawn
            assert np.array_equal(read.words, written.words)
        collection_pages.forget([LOOM, FELT])


def test_texts_of_every_kind_are_stored_and_found(collection_pages: CollectionPages) -> None:
    texts = ("A\0gap.", "x" * 20_000, "織" * 3_000, "naïve GAPS", "foo_bar", "\U0001e900 e\u0301")
    collection_pages.expect(LOOM, "1", len(texts))
    for page, text in enumerate(texts, 1):
        put(collection_pages, LOOM, page, text, 0)
    pages = {
        query: {page.page for page in search(collection_pages, query)}
        for query in ("gap", "x" * 20_000, "織" * 3_000, "naive", "bar", "織")
    }
    assert pages == {
        "gap": {1, 4},
        "x" * 20_000: {2},
        "織" * 3_000: {3},
        "naive": {4},
        "bar": {5},
        "織": set(),
    }


def test_the_first_documents_of_a_collection_wait_for_each_other(tmp_path: Path) -> None:
    """Without the wait, five of a hundred new files were locked for one of six writers."""
    barrier = Barrier(WRITERS)

    def write(pages: CollectionPages, number: int) -> bool:
        barrier.wait()
        pages.expect(f"sha256-{number}", "maker", 2)
        return pages.finish(f"sha256-{number}")

    place = FolderPages(tmp_path)
    with ThreadPoolExecutor(WRITERS) as threads:
        for attempt in range(200):
            pages = place.of(str(attempt))
            assert all(threads.map(write, [pages] * WRITERS, range(WRITERS)))
            assert len(pages.documents()) == WRITERS
