"""The store: collections come, change and go; nothing is half there."""

import asyncio
from pathlib import Path

import pytest
from heddle_knowledge.collection.types import CollectionSize
from heddle_knowledge.engines.conditions import Tag
from heddle_knowledge.errors import (
    CollectionExistsError,
    CollectionNotFoundError,
    ForeignBackendError,
    InvalidInputError,
)
from heddle_knowledge.store import KnowledgeStore
from knowledge.store.putting import put, tables_in


async def test_collections_are_made_listed_by_page_and_deleted(store: KnowledgeStore) -> None:
    for name in ("b", "4", "a.b-c_d", "z" * 63):
        await store.collections.create(name, title=f"Title of {name}")
    collection = await store.collections.get("4")
    assert (collection.title, collection.backend, collection.model, collection.dim) == (
        "Title of 4",
        "embedded",
        "hashed-words",
        64,
    )
    names = ["4", "a.b-c_d", "b", "docs", "z" * 63]
    assert sorted(each.name for each in (await store.collections.all()).values()) == names
    await store.collections.delete("b")
    with pytest.raises(CollectionNotFoundError, match="'b'"):
        await store.collections.get("b")


async def test_a_name_is_taken_once(store: KnowledgeStore) -> None:
    with pytest.raises(CollectionExistsError, match="'docs'"):
        await store.collections.create("docs")
    results = await asyncio.gather(
        *(store.collections.create("new") for _ in range(4)), return_exceptions=True
    )
    assert sorted(type(result).__name__ for result in results) == [
        "Collection",
        *["CollectionExistsError"] * 3,
    ]


async def test_a_collection_made_again_is_empty(store: KnowledgeStore) -> None:
    await put(store, "a", "old text")
    await store.collections.delete("docs")
    await store.collections.create("docs")
    assert await store.collections.size("docs") == CollectionSize(0, 0)
    assert await store.passages.search("docs", "old text", top_k=5) == []


async def test_bad_collection_names_are_refused(store: KnowledgeStore) -> None:
    for name in ("", "-a", "a b", "a/b", "..", "ä", "a" * 64, "a\n", "a'"):
        with pytest.raises(InvalidInputError, match="cannot name a collection"):
            await store.collections.create(name)
        with pytest.raises(CollectionNotFoundError):
            await store.collections.get(name)


async def test_a_foreign_collection_is_a_record_only(
    folder_store: KnowledgeStore, tmp_path: Path
) -> None:
    settings = {"url": "http://127.0.0.1:9090", "collection_id": "7"}
    await folder_store.collections.create("lamb", backend="lamb-kb", settings=settings)
    assert dict((await folder_store.collections.get("lamb")).settings) == settings
    with pytest.raises(ForeignBackendError, match="lamb-kb"):
        await folder_store.passages.search("lamb", "x", top_k=1)
    with pytest.raises(ForeignBackendError, match="lamb-kb"):
        await put(folder_store, "a", "text", collection="lamb")
    assert len(tables_in(tmp_path / "store")) == 1
    await folder_store.collections.delete("lamb")
    assert [c.name for c in (await folder_store.collections.all()).values()] == ["docs"]


async def test_long_metadata_selects_documents(store: KnowledgeStore) -> None:
    long = "".join(map(chr, range(0x4E00, 0x4E00 + 1_024)))  # which does not compress
    await put(store, "a", "text", metadata={"k" * 64: long})
    await put(store, "b", "text", metadata={"k" * 64: long[:-1]})
    where = Tag("k" * 64, (long,))
    [passage] = await store.passages.search("docs", "text", top_k=5, where=where)
    assert passage.document == "a"
