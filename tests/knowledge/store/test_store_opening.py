"""The store: opened again, by several at once, after a crash, and kept in order."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from heddle_knowledge.collection.types import CollectionSize
from heddle_knowledge.errors import (
    CollectionExistsError,
    CollectionNotFoundError,
    EmbedderMismatchError,
    KnowledgeError,
    StorageError,
)
from heddle_knowledge.pages.page_place import open_pages
from heddle_knowledge.store import KnowledgeStore, open_store
from knowledge.store.places import Place
from knowledge.store.putting import contents, long_text, put, tables_in

from benchmarks.retrieval.hashing_embedder import HashingEmbedder


async def test_another_embedder_is_refused_by_name(place: Place) -> None:
    async with place.store(HashingEmbedder()) as store:
        await store.collections.create("docs")
        await put(store, "a", "text")
    async with place.store(HashingEmbedder(revision="2")) as store:
        with pytest.raises(EmbedderMismatchError, match="ingest its documents again"):
            await store.passages.search("docs", "text", top_k=1)
        with pytest.raises(EmbedderMismatchError):
            await put(store, "b", "text")
        assert [d.name for d in await store.documents.listed("docs")] == ["a"]
        await store.collections.delete("docs")


async def test_two_open_stores_see_each_other_and_exclude_each_other(place: Place) -> None:
    async with (
        place.store(HashingEmbedder(), quiet_seconds=0.01) as one,
        place.store(HashingEmbedder(), quiet_seconds=0.01) as two,
    ):
        await one.collections.create("docs")
        with pytest.raises(CollectionExistsError):
            await two.collections.create("docs")
        stores = [one, two] * 5
        await asyncio.gather(*(put(s, "same", long_text(f"v{n}")) for n, s in enumerate(stores)))
        await asyncio.gather(*(put(s, f"d{n}", f"text {n}") for n, s in enumerate(stores)))
        for store in (one, two):
            assert await store.collections.size("docs") == CollectionSize(11, 22)
            assert len(set(await contents(store, "paragraph"))) == 1
        await one.collections.delete("docs")
        with pytest.raises(CollectionNotFoundError):
            await two.passages.search("docs", "text", top_k=1)


async def test_a_store_reopened_has_everything(place: Place) -> None:
    async with place.store(HashingEmbedder()) as store:
        before = await store.collections.create("docs", title="T", settings={"a": "b"})
        await put(store, "a", "first text")
    async with place.store(HashingEmbedder()) as store:
        assert await store.collections.get("docs") == before
        assert await contents(store, "text") == [("a", "first")]


async def test_what_a_crash_left_without_a_record_is_swept_at_opening(tmp_path: Path) -> None:
    async with open_store(tmp_path, HashingEmbedder()) as store:
        await store.collections.create("docs")
    import lancedb  # noqa: PLC0415 - takes a second to load

    database = await lancedb.connect_async(str(tmp_path))
    await database.create_table("chunks_" + "0" * 32, [{"text": "left behind"}])
    (tmp_path / "locks" / f"{'0' * 32}.write").touch()
    assert len(tables_in(tmp_path)) == 2
    async with open_store(tmp_path, HashingEmbedder()) as store:
        assert len(tables_in(tmp_path)) == 1
        assert not list((tmp_path / "locks").glob("0*"))
        assert await store.collections.size("docs") == CollectionSize(0, 0)


@pytest.mark.alone  # upkeep waits for a machine that has nothing else to do
async def test_upkeep_merges_fragments_in_the_background(
    folder_store: KnowledgeStore, tmp_path: Path
) -> None:
    for n in range(12):
        await put(folder_store, f"d{n}", f"text number{n}")
    (table,) = tables_in(tmp_path / "store")
    import lancedb  # noqa: PLC0415 - takes a second to load

    database = await lancedb.connect_async(str(tmp_path / "store"))
    async with asyncio.timeout(60):
        while True:
            stats: Any = await (await database.open_table(table.stem)).stats()
            if stats["fragment_stats"]["num_fragments"] <= 2:
                break
            await asyncio.sleep(0.1)
    assert len(await contents(folder_store, "text")) == 12


async def test_upkeep_of_a_collection_that_is_gone_is_nothing(store: KnowledgeStore) -> None:
    await store.tidy("gone")
    assert [each.name for each in (await store.collections.all()).values()] == ["docs"]


async def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="Check its path"):
        async with open_store(tmp_path / "file" / "store", HashingEmbedder()):
            pass


async def test_every_error_is_a_knowledge_error_without_paths(
    folder_store: KnowledgeStore, tmp_path: Path
) -> None:
    (table,) = tables_in(tmp_path / "store")
    (table / "_versions").rename(table / "elsewhere")
    with pytest.raises(KnowledgeError) as caught:
        await put(folder_store, "a", "text")
    assert str(tmp_path) not in str(caught.value)
    assert "chunks_" not in str(caught.value)


async def test_folders_may_be_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    here = Path("store")
    async with (
        open_pages("", here / "pages") as pages,
        open_store(here, HashingEmbedder(), pages=pages) as store,
    ):
        await store.collections.create("docs")
        await put(store, "a.txt", "weft and warp")
        assert (await store.documents.get("docs", "a.txt")).pages == 0
        assert await contents(store, "weft")
