"""Pages from ingestion to deletion, in a real store."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest
from heddle_knowledge.collection.types import Collection, Document, Ingested, IngestProgress
from heddle_knowledge.embedders.embedding import MODEL_SHA256
from heddle_knowledge.errors import (
    DocumentNotFoundError,
    EmbedderMismatchError,
    UnreadableDocumentError,
    UnsuitableCollectionError,
)
from heddle_knowledge.pages.models import OcrPageModel, PageModelInfo
from heddle_knowledge.pages.page_place import PagePlace
from heddle_knowledge.pages.reader import PageReader
from heddle_knowledge.pages.shapes import DrawnPage
from heddle_knowledge.store import KnowledgeStore, open_store
from knowledge.pages.conftest import Address
from knowledge.pages.pdfs import joined, pdf, scan
from knowledge.shared_parser import shared_parser
from patience import until

from benchmarks.retrieval.hashing_embedder import HashingEmbedder

REVISION = MODEL_SHA256[:16]
GUIDE = pdf("A shed is a gap.", "A heddle is a loop.")


class OtherModel(OcrPageModel):
    """The same model under another name."""

    def info(self) -> PageModelInfo:
        return PageModelInfo("another", 384, "1", visual=False)


DELETED_EVERYWHERE = pytest.mark.parametrize("address", ["folder", "objects"], indirect=True)
EVERYWHERE = pytest.mark.parametrize(
    "address", ["folder", pytest.param("objects", marks=pytest.mark.exhaustive)], indirect=True
)
IN_FOLDER = pytest.mark.parametrize("address", ["folder"], indirect=True)


@asynccontextmanager
async def stored_at(address: Address, **more: Any) -> AsyncGenerator[KnowledgeStore]:
    """Open a store whose pages are at an address."""
    place = address.place or address.folder.parent
    async with (
        address.opened() as pages,
        open_store(place, HashingEmbedder(), pages=pages, **more, parser=shared_parser()) as opened,
    ):
        yield opened


@pytest.fixture
async def store(address: Address) -> AsyncIterator[KnowledgeStore]:
    async with stored_at(address) as opened:
        yield opened


async def put(
    store: KnowledgeStore, collection: Collection, data: bytes, name: str = "a.pdf"
) -> tuple[list[str], Ingested]:
    """Ingest, and return the stages and the end."""
    *events, last = [event async for event in store.documents.ingest(collection.id, name, data)]
    assert isinstance(last, Ingested)
    return [it.stage for it in events if isinstance(it, IngestProgress)], last


@EVERYWHERE
async def test_pages_have_pictures_unless_only_text_is_wanted(store: KnowledgeStore) -> None:
    looms = await store.collections.create("looms")
    texts = await store.collections.create("texts", page_handling="text")
    stages, _ = await put(store, looms, GUIDE)
    text_stages, _ = await put(store, texts, GUIDE)

    assert "drawing" in stages
    assert "drawing" not in text_stages
    assert (await store.pages.picture(looms.id, "a.pdf", 2)).data[8:12] == b"WEBP"
    for collection, page in ((texts, 1), (looms, 3)):
        with pytest.raises(DocumentNotFoundError, match="no picture of page"):
            await store.pages.picture(collection.id, "a.pdf", page)
    for collection, seen in ((looms, True), (texts, False)):
        (found, _) = await store.passages.search(collection.id, "loop", top_k=2)
        assert (found.page, found.has_picture) == (2, seen)
        assert (await store.documents.get(collection.id, "a.pdf")).pages == 2


@IN_FOLDER
async def test_documents_without_pages_have_none(store: KnowledgeStore) -> None:
    looms = await store.collections.create("looms")
    stages, _ = await put(store, looms, b"A shed.", "a.md")
    assert "drawing" not in stages
    assert (await store.documents.get(looms.id, "a.md")).pages == 0
    (found,) = await store.passages.search(looms.id, "shed", top_k=1)
    assert not found.has_picture


@pytest.mark.exhaustive
@EVERYWHERE
async def test_the_same_pages_are_drawn_once(store: KnowledgeStore) -> None:
    looms = await store.collections.create("looms")
    await put(store, looms, GUIDE)
    again, last = await put(store, looms, GUIDE)
    other, _ = await put(store, looms, GUIDE, "copy.pdf")
    assert last.unchanged
    assert "drawing" not in again + other
    await store.documents.delete(looms.id, "a.pdf")
    await store.tidy(looms.id)
    assert (await store.pages.picture(looms.id, "copy.pdf", 1)).data


@DELETED_EVERYWHERE
async def test_pages_go_with_their_document_and_their_collection(
    store: KnowledgeStore, address: Address
) -> None:
    looms = await store.collections.create("looms")
    await put(store, looms, GUIDE)
    await put(store, looms, pdf("Another version."))
    await store.tidy(looms.id)
    current = await store.documents.get(looms.id, "a.pdf")
    async with address.opened() as pages:
        assert list(await pages.of(looms.id).documents()) == [current.sha256]
        assert len(address.keys) == bool(address.server)

        await store.documents.delete(looms.id, "a.pdf")
        await store.tidy(looms.id)
        assert await pages.of(looms.id).documents() == {}
        assert address.keys == []
        await put(store, looms, GUIDE)
        await store.collections.delete("looms")
        assert await pages.collections() == set()
    assert address.keys == []
    await store.purge()
    files = [file.read_bytes() for file in address.folder.rglob("*") if file.is_file()]
    assert not any(b"WEBP" in each or current.sha256.encode() in each for each in files)


async def _is_alone(collection: str, pages: PagePlace) -> bool:
    return await pages.collections() == {collection}


@EVERYWHERE
async def test_pages_of_a_collection_that_a_crash_left_are_swept(
    store: KnowledgeStore, address: Address
) -> None:
    looms = await store.collections.create("looms")
    await put(store, looms, GUIDE)
    async with address.opened() as pages:
        gone = pages.of("0" * 32)
        words = [np.empty((0, 0), np.float16)]
        await gone.expect("a" * 64, "maker", 1)
        await gone.add("a" * 64, [DrawnPage(1, b"A picture.")], words)
        async with stored_at(address):
            await until(lambda: _is_alone(looms.id, pages))
    assert all(looms.id in key for key in address.keys)
    assert (await store.pages.picture(looms.id, "a.pdf", 1)).data


@EVERYWHERE
@pytest.mark.exhaustive
async def test_pages_of_a_document_that_is_coming_in_are_not_swept(store: KnowledgeStore) -> None:
    looms = await store.collections.create("looms")
    events = store.documents.ingest(looms.id, "a.pdf", GUIDE)
    async for event in events:
        if isinstance(event, IngestProgress) and event.stage == "parsing":
            await store.tidy(looms.id)  # the pages are there, and the document is not
    assert (await store.pages.picture(looms.id, "a.pdf", 1)).data


@pytest.mark.exhaustive
@EVERYWHERE
async def test_a_scan_is_read_and_found_by_page_and_by_passage(store: KnowledgeStore) -> None:
    looms = await store.collections.create("looms", page_handling="search")
    stages, _ = await put(store, looms, scan("Weaving manual\nThe heddle lifts", "Felt is pressed"))
    assert "recognising" in stages

    found = [page for _, page in await store.pages.search(looms.id, "pressed felt", top_k=2)]
    (passage, *_) = await store.passages.search(looms.id, "heddle", top_k=1)

    assert [page.stored.page for page in found] == [2, 1]
    assert 0 <= found[1].score < found[0].score <= 1
    assert "Felt is pressed" in found[0].stored.text
    assert (passage.page, passage.has_picture) == (1, True)
    assert store.pages.model == PageModelInfo("minilm-l6-ocr-maxsim", 384, REVISION, visual=False)
    assert await store.pages.search(looms.id, "  ", top_k=2) == []


@pytest.mark.exhaustive
async def test_the_text_of_a_scan_is_recognised_whatever_is_done_with_pages(
    store: KnowledgeStore,
) -> None:
    looms = await store.collections.create("looms")
    stages, _ = await put(store, looms, scan("Weaving manual", "Felt is pressed"))
    assert "recognising" in stages
    (passage, *_) = await store.passages.search(looms.id, "pressed felt", top_k=1)
    assert (passage.page, passage.text) == (2, "Felt is pressed")
    with pytest.raises(UnreadableDocumentError, match="holds no text"):
        await put(store, looms, scan(""))


@pytest.mark.exhaustive
async def test_scanned_pages_within_a_document_are_read_and_the_others_are_counted(
    store: KnowledgeStore,
) -> None:
    looms = await store.collections.create("looms")
    data = joined(scan("Felt is pressed", ""), pdf("The heddle lifts the warp."))
    stages, _ = await put(store, looms, data)
    assert "recognising" in stages
    passages = await store.passages.search(looms.id, "pressed felt", top_k=2)
    assert {(each.page, each.text) for each in passages} == {
        (1, "Felt is pressed"),
        (3, "The heddle lifts the warp."),
    }
    (document,) = await store.documents.listed(looms.id)
    assert document.metadata["pages_without_text"] == "1"


@EVERYWHERE
@pytest.mark.exhaustive
async def test_pages_of_a_deleted_document_are_not_found_before_they_are_swept(
    address: Address,
) -> None:
    async with stored_at(address, quiet_seconds=600) as store:
        looms = await store.collections.create("looms", page_handling="search")
        await put(store, looms, GUIDE)
        assert len(await store.pages.search(looms.id, "heddle", top_k=5)) == 2
        await store.documents.delete(looms.id, "a.pdf")
        assert await store.pages.search(looms.id, "heddle", top_k=5) == []
    async with stored_at(address, page_model=OtherModel) as other:
        with pytest.raises(EmbedderMismatchError, match="another model"):
            await other.pages.search(looms.id, "heddle", top_k=5)


@IN_FOLDER
async def test_a_collection_of_pictures_refuses_a_search_for_pages(store: KnowledgeStore) -> None:
    looms = await store.collections.create("looms")
    with pytest.raises(UnsuitableCollectionError, match="SEARCH"):
        await store.pages.search(looms.id, "heddle", top_k=1)


async def test_a_reader_that_dies_starts_again() -> None:
    reader = PageReader(drawing_seconds=30)
    try:
        (first,) = await reader.draw(GUIDE, [1])
        assert first.picture
        os.kill(reader.drawing.pid or 0, signal.SIGKILL)
        (again,) = await reader.draw(GUIDE, [2])
        assert again.picture
    finally:
        await reader.aclose()


@pytest.mark.exhaustive
@EVERYWHERE
async def test_two_ingestions_of_the_same_pages_take_turns(store: KnowledgeStore) -> None:
    looms = await store.collections.create("looms")
    (one, _), (other, _) = await asyncio.gather(
        put(store, looms, GUIDE), put(store, looms, GUIDE, "copy.pdf")
    )
    assert ("drawing" in one) != ("drawing" in other)


@IN_FOLDER
async def test_listed_documents_tell_their_pages(store: KnowledgeStore) -> None:
    looms = await store.collections.create("looms")
    await put(store, looms, GUIDE)
    await put(store, looms, b"A shed.", "b.md")
    listed: list[Document] = await store.documents.listed(looms.id)
    assert [(each.name, each.pages) for each in listed] == [("a.pdf", 2), ("b.md", 0)]
