"""The store: documents come, change and go; nothing is half there."""

import asyncio
from contextlib import aclosing

import pytest
from heddle_knowledge.collection.types import CollectionSize, Ingested, IngestProgress
from heddle_knowledge.errors import (
    CollectionNotFoundError,
    DocumentNotFoundError,
    InvalidInputError,
    StorageError,
    UnreadableDocumentError,
)
from heddle_knowledge.store import KnowledgeStore, open_store
from knowledge.store.places import Place
from knowledge.store.putting import contents, long_text, put

from benchmarks.retrieval.hashing_embedder import HashingEmbedder

ODD_NAMES = [
    "it's",
    "'; DROP TABLE x; --",
    '"quoted"',
    "a/b\\c.txt",
    "per%cent_",
    "日本語.md",
    " spaced ",
    "''",
]


async def test_progress_counts_up_to_one_acknowledgement(store: KnowledgeStore) -> None:
    events = [
        e async for e in store.documents.ingest("docs", "a.txt", long_text("word", 80).encode())
    ]
    progress = [e for e in events if isinstance(e, IngestProgress)]
    assert [e.stage for e in progress][:3] == ["parsing", "parsing", "embedding"]
    assert progress[-1] == IngestProgress("saving", 0, 1)
    embedding = [e for e in progress if e.stage == "embedding"]
    assert [e.done for e in embedding] == [0, 32, 64, 80]
    assert {e.total for e in embedding} == {80}
    assert events[-1] == Ingested("a.txt", 80, replaced=False, unchanged=False)


async def test_the_same_content_again_costs_nothing(
    store: KnowledgeStore, embedder: HashingEmbedder
) -> None:
    await put(store, "a", "some text")
    spent = embedder.embedded
    events = [event async for event in store.documents.ingest("docs", "a", b"some text")]
    assert events == [Ingested("a", 1, replaced=False, unchanged=True)]
    assert embedder.embedded == spent


async def test_new_content_takes_the_place_of_the_old(store: KnowledgeStore) -> None:
    for word, paragraphs in (("alpha", 12), ("beta", 3), ("gamma", 20)):
        result = await put(store, "a", long_text(word, paragraphs))
        assert result == Ingested("a", paragraphs, replaced=word != "alpha", unchanged=False)
        assert await contents(store, "alpha beta gamma") == [("a", word)] * paragraphs
    assert await store.collections.size("docs") == CollectionSize(1, 20)


async def test_new_labels_cost_no_embedding_and_are_found(
    store: KnowledgeStore, embedder: HashingEmbedder
) -> None:
    await put(store, "a", long_text("word"), uri="https://old", metadata={"course": "1"})
    spent = embedder.embedded
    result = await put(store, "a", long_text("word"), uri="https://n'ew", metadata={"k": "it's"})
    assert result == Ingested("a", 12, replaced=True, unchanged=False)
    assert embedder.embedded == spent
    found = await store.passages.search("docs", "word", top_k=12)
    assert [(p.uri, dict(p.metadata)) for p in found] == [("https://n'ew", {"k": "it's"})] * 12


async def test_documents_are_listed_by_page_with_all_that_is_known(store: KnowledgeStore) -> None:
    for name in ("b.md", "a.md", "c.md"):
        await put(store, name, f"# Title of {name}\n\ntext", metadata={"from": name})
    documents = await store.documents.listed("docs", limit=2)
    assert [(d.name, d.title, d.media_type, d.chunks, d.size) for d in documents] == [
        ("a.md", "Title of a.md", "text/markdown", 1, 21),
        ("b.md", "Title of b.md", "text/markdown", 1, 21),
    ]
    assert dict(documents[0].metadata) == {"from": "a.md"}
    assert await store.documents.get("docs", "b.md") == documents[1]
    with pytest.raises(DocumentNotFoundError, match=r"'z\.md'"):
        await store.documents.get("docs", "z.md")
    assert [d.name for d in await store.documents.listed("docs", after="b.md")] == ["c.md"]


async def test_odd_document_names_touch_only_their_document(store: KnowledgeStore) -> None:
    await put(store, "other", "other text")
    for name in ODD_NAMES:
        await put(store, name, "first text")
        result = await put(store, name, "second text", media_type="text/plain")
        assert result == Ingested(name, 1, replaced=True, unchanged=False)
    names = sorted([*ODD_NAMES, "other"], key=str.encode)
    for at, name in enumerate(names):
        listed = await store.documents.listed("docs", after=name)
        assert [d.name for d in listed] == names[at + 1 :]
    for name in ODD_NAMES:
        await store.documents.delete("docs", name)
        with pytest.raises(DocumentNotFoundError):
            await store.documents.delete("docs", name)
    assert [d.name for d in await store.documents.listed("docs")] == ["other"]


async def test_bad_document_names_are_refused(store: KnowledgeStore) -> None:
    for name in ("", " ", "a\nb", "a\0", "\ud800", "x" * 513):
        with pytest.raises(InvalidInputError, match="cannot name a document"):
            await put(store, name, "text")


async def test_a_document_that_cannot_be_read_leaves_the_old_one(store: KnowledgeStore) -> None:
    await put(store, "a.pdf", "plain text", media_type="text/plain")
    with pytest.raises(UnreadableDocumentError, match=r"'a\.pdf'"):
        await put(store, "a.pdf", "%PDF-1.4 broken")
    assert await contents(store, "plain") == [("a.pdf", "plain")]


async def test_an_ingestion_that_is_given_up_changes_nothing(store: KnowledgeStore) -> None:
    await put(store, "a", "old text")
    async with aclosing(store.documents.ingest("docs", "a", long_text("new").encode())) as events:
        async for event in events:
            if event == IngestProgress("saving", 0, 1):
                break
    assert await contents(store, "old new") == [("a", "old")]


async def test_a_cancelled_ingestion_leaves_one_version_whole(store: KnowledgeStore) -> None:
    await put(store, "a", long_text("old"))
    for delay in (0.0, 0.01, 0.02, 0.03, 0.05):
        running = asyncio.create_task(put(store, "a", long_text(f"new{delay}", 20)))
        await asyncio.sleep(delay)
        running.cancel()
        await asyncio.wait([running])
        found = await contents(store, "paragraph")
        assert len(found) in {12, 20}
        assert len(set(found)) == 1
    assert (await put(store, "a", long_text("last", 3))).replaced


async def test_documents_are_ingested_side_by_side(store: KnowledgeStore) -> None:
    texts = {f"d{n}": long_text(f"word{n}", 1 + n % 5) for n in range(20)}
    await asyncio.gather(*(put(store, name, text) for name, text in texts.items()))
    documents = {d.name: d.chunks for d in await store.documents.listed("docs")}
    assert documents == {f"d{n}": 1 + n % 5 for n in range(20)}
    assert (await store.collections.size("docs")).chunks == sum(documents.values())


async def test_of_versions_ingested_at_once_one_stays_whole(store: KnowledgeStore) -> None:
    versions = {f"v{n}": n + 1 for n in range(8)}
    await asyncio.gather(*(put(store, "a", long_text(v, n)) for v, n in versions.items()))
    found = await contents(store, "paragraph")
    ((_, winner),) = set(found)
    assert len(found) == versions[winner]
    assert await store.collections.size("docs") == CollectionSize(1, versions[winner])


async def test_a_collection_deleted_during_an_ingestion_is_told(store: KnowledgeStore) -> None:
    events = store.documents.ingest("docs", "a", long_text("word").encode())
    async with aclosing(events):
        assert isinstance(await anext(events), IngestProgress)
        await store.collections.delete("docs")
        with pytest.raises(CollectionNotFoundError, match="'docs'"):
            async for _ in events:
                pass


async def test_an_ingestion_that_outlives_the_store_is_not_blamed_on_the_document(
    place: Place,
) -> None:
    # It has a reader of its own, which ends with it.
    async with open_store(place.address, HashingEmbedder(), options=place.options) as store:
        await store.collections.create("docs")
        events = store.documents.ingest("docs", "a", long_text("word", 3_000).encode())
        await anext(events)
        running = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0)
    with pytest.raises(StorageError):
        await running
