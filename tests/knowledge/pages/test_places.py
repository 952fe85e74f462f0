"""Pages in each kind of place: what is stored of them, found and deleted."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import numpy as np
import pytest
from heddle_knowledge.pages.collection_pages import CollectionPages
from heddle_knowledge.pages.page_place import PagePlace, open_pages
from heddle_knowledge.pages.shapes import DrawnPage, StoredPage
from knowledge.pages.conftest import COLLECTION, Address

WRITERS = 6
LOOM, FELT = "a" * 64, "b" * 64
MEAN = np.eye(4, dtype=np.float32)[0]
NO_WORDS = np.empty((0, 0), np.float16)
OTHER = "2" * 32
FIGURE = "Fig. 1: 10K"


def words(*places: int) -> np.ndarray:
    """Return a vector of length 1 along each of some axes."""
    return np.eye(4, dtype=np.float16)[list(places)]


async def put(pages: CollectionPages, sha256: str, page: int, text: str, *places: int) -> None:
    drawn = DrawnPage(page, f"picture {page}".encode(), text, (FIGURE,))
    await pages.add(sha256, [drawn], [words(*places)])


async def near(pages: CollectionPages) -> list[StoredPage]:
    """Return the pages that a search by meaning finds."""
    return await pages.search.read(await pages.search.nearest(MEAN, 9), [], 4)


async def test_pages_come_back_as_they_were(collection_pages: CollectionPages) -> None:
    assert await collection_pages.expect(LOOM, "1", 2) == [1, 2]
    await put(collection_pages, LOOM, 1, "A shed is a gap.", 0, 1)
    (stored,) = await near(collection_pages)
    assert (stored.sha256, stored.page, stored.text) == (LOOM, 1, "A shed is a gap.")
    assert stored.figures == (FIGURE,)
    assert np.array_equal(stored.words, words(0, 1))
    picture = await collection_pages.picture(LOOM, 1)
    assert picture is not None
    assert picture.data == b"picture 1"
    assert await collection_pages.pictured([LOOM, FELT]) == {(LOOM, 1)}
    assert await collection_pages.picture(LOOM, 2) is None
    assert await collection_pages.picture(FELT, 1) is None


async def test_what_was_interrupted_goes_on_where_it_was(
    collection_pages: CollectionPages, address: Address
) -> None:
    await collection_pages.expect(LOOM, "1", 3)
    await put(collection_pages, LOOM, 2, "A gap.", 0)
    async with address.opened() as opened:
        await _goes_on(opened.of(COLLECTION))


async def _goes_on(again: CollectionPages) -> None:
    assert not await again.is_whole(LOOM, "1")
    assert await again.expect(LOOM, "1", 3) == [1, 3]
    await put(again, LOOM, 2, "Another gap.", 1)  # by an ingestion that had not seen it
    assert [page.text for page in await near(again)] == ["A gap."]
    assert await again.finish(LOOM)
    assert await again.is_whole(LOOM, "1")


async def test_pages_of_another_maker_give_way(collection_pages: CollectionPages) -> None:
    await collection_pages.expect(LOOM, "1", 1)
    await put(collection_pages, LOOM, 1, "A gap.", 0)
    assert await collection_pages.makers() == {"1"}
    assert await collection_pages.expect(LOOM, "2", 1) == [1]
    assert await near(collection_pages) == []
    assert await collection_pages.makers() == {"2"}


async def test_forgotten_pages_are_gone_from_every_search(
    collection_pages: CollectionPages,
) -> None:
    for sha256 in (LOOM, FELT):
        await collection_pages.expect(sha256, "1", 1)
        await put(collection_pages, sha256, 1, "A gap.", 0)
    assert {page.sha256 for page in await near(collection_pages)} == {LOOM, FELT}
    await collection_pages.forget([LOOM])
    assert [page.sha256 for page in await near(collection_pages)] == [FELT]
    assert await collection_pages.search.read([], [(LOOM, 1)], 4) == []
    assert await collection_pages.page(LOOM, 1) is None
    assert await collection_pages.page(FELT, 1) is not None
    assert list(await collection_pages.documents()) == [FELT]
    assert not await collection_pages.finish(LOOM)


async def test_a_collection_without_pages_answers_and_leaves_no_trace(
    collection_pages: CollectionPages, page_place: PagePlace
) -> None:
    assert await near(collection_pages) == []
    assert await collection_pages.search.read([1], [(LOOM, 1)], 4) == []
    assert await collection_pages.documents() == {}
    assert await collection_pages.numbers(LOOM) == []
    assert await collection_pages.page(LOOM, 1) is None
    assert await collection_pages.whole_page(LOOM, 1) is None
    assert await collection_pages.count_pictures() == 0
    assert not await collection_pages.is_whole(LOOM, "1")
    assert await page_place.collections() == set()


async def test_pages_are_read_by_what_found_them(
    collection_pages: CollectionPages,
) -> None:
    for sha256, axis in ((LOOM, 0), (FELT, 1)):
        await collection_pages.expect(sha256, "1", 2)
        for page in (1, 2):
            await put(collection_pages, sha256, page, f"Page {page}.", axis)
    search = collection_pages.search
    nearest = await search.nearest(MEAN, 2)
    found = await search.read(nearest, [(FELT, 2), (LOOM, 2), (FELT, 9)], 4)
    assert [(page.sha256, page.page) for page in found] == [(LOOM, 1), (LOOM, 2), (FELT, 2)]


async def test_a_deleted_collection_leaves_no_trace_and_no_other_one_loses_pages(
    page_place: PagePlace, address: Address
) -> None:
    for collection in (COLLECTION, OTHER):
        pages = page_place.of(collection)
        await pages.expect(LOOM, "1", 1)
        await put(pages, LOOM, 1, "A gap.", 0)
    assert address.place or b"picture 1" in _stored(address.folder)
    assert await page_place.collections() == {COLLECTION, OTHER}
    await page_place.drop(COLLECTION)
    assert await page_place.collections() == {OTHER}
    assert await page_place.of(COLLECTION).documents() == {}
    assert await near(page_place.of(COLLECTION)) == []
    assert await page_place.of(OTHER).count_pictures() == 1
    if address.server:
        assert [key.split("/")[2] for key in address.keys] == [OTHER]
    await page_place.drop(OTHER)
    assert address.keys == []
    await page_place.purge()
    stored = _stored(address.folder)
    assert not any(text in stored for text in (b"gap", b"picture 1", LOOM.encode()))


def _stored(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


async def test_collections_with_the_same_document_have_pages_of_their_own(
    page_place: PagePlace,
) -> None:
    mine, other = page_place.of(COLLECTION), page_place.of(OTHER)
    for pages, text in ((mine, "A gap."), (other, "A secret gap.")):
        await pages.expect(LOOM, "1", 1)
        await put(pages, LOOM, 1, text, 0)
    assert [page.text for page in await near(mine)] == ["A gap."]
    assert [page.text for page in await mine.search.read([], [(LOOM, 1)], 4)] == ["A gap."]
    await mine.forget([LOOM])
    assert await other.picture(LOOM, 1) is not None


async def test_pages_are_copied_from_one_place_to_another(
    collection_pages: CollectionPages, tmp_path: Path
) -> None:
    async with open_pages("", tmp_path / "copy") as place:
        await _copied(collection_pages, place.of(COLLECTION))


async def _copied(collection_pages: CollectionPages, copy: CollectionPages) -> None:
    await collection_pages.expect(LOOM, "maker", 3)
    await put(collection_pages, LOOM, 1, "A shed.", 0, 1)
    await collection_pages.add(LOOM, [DrawnPage(3, b"", "", scanned=True)], [NO_WORDS])
    await collection_pages.finish(LOOM)
    await collection_pages.expect(FELT, "another", 2)
    for source, target in ((collection_pages, copy), (copy, collection_pages)):
        for document in (await source.documents()).values():
            for number in await target.expect(document.sha256, document.maker, document.pages):
                if (page := await source.whole_page(document.sha256, number)) is not None:
                    await target.add(document.sha256, [page[0]], [page[1]])
            if document.whole:
                await target.finish(document.sha256)
        assert await target.documents() == await source.documents()
        assert await target.numbers(LOOM) == await source.numbers(LOOM) == [1, 3]
        for number in (1, 3):
            read = await source.whole_page(LOOM, number)
            written = await target.whole_page(LOOM, number)
            assert read is not None
            assert written is not None
            assert read[0] == written[0]
            assert np.array_equal(read[1], written[1])
        await collection_pages.forget([LOOM, FELT])


async def test_a_text_may_have_a_nul(collection_pages: CollectionPages) -> None:
    await collection_pages.expect(LOOM, "1", 1)
    await put(collection_pages, LOOM, 1, "A\0gap.", 0)
    assert [page.text for page in await near(collection_pages)] == ["A gap."]


@pytest.mark.exhaustive
async def test_the_first_documents_of_a_folder_wait_for_each_other(tmp_path: Path) -> None:
    """Each writer has the file open for itself, as a process of its own does."""

    async def write(place: PagePlace, number: int) -> bool:
        await place.of(COLLECTION).expect(f"sha256-{number}", "maker", 2)
        return await place.of(COLLECTION).finish(f"sha256-{number}")

    for attempt in range(20):
        async with AsyncExitStack() as stack:
            opened = [open_pages("", tmp_path / str(attempt)) for _ in range(WRITERS)]
            places = [await stack.enter_async_context(each) for each in opened]
            assert all(await asyncio.gather(*map(write, places, range(WRITERS))))
            assert len(await places[0].of(COLLECTION).documents()) == WRITERS
