"""The store: collections and documents come, change and go; nothing is half there."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import lancedb
import pytest
from heddle_tools_service.knowledge.errors import (
    CollectionExistsError,
    CollectionNotFoundError,
    DocumentNotFoundError,
    EmbedderMismatchError,
    ForeignBackendError,
    InvalidInputError,
    KnowledgeError,
    StorageError,
    UnreadableDocumentError,
)
from heddle_tools_service.knowledge.records import (
    CollectionSize,
    Ingested,
    IngestProgress,
)
from heddle_tools_service.knowledge.store import KnowledgeStore, open_store
from heddle_tools_service.knowledge.testing import HashingEmbedder
from tools_service.knowledge.places import Place

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


@pytest.fixture
def embedder() -> HashingEmbedder:
    return HashingEmbedder()


@pytest.fixture
async def store(place: Place, embedder: HashingEmbedder) -> AsyncIterator[KnowledgeStore]:
    async with place.store(embedder, quiet_seconds=0.05) as opened:
        await opened.collections.create("docs", title="Documents")
        yield opened


@pytest.fixture
async def folder_store(tmp_path: Path) -> AsyncIterator[KnowledgeStore]:
    async with open_store(tmp_path / "store", HashingEmbedder(), quiet_seconds=0.05) as opened:
        await opened.collections.create("docs", title="Documents")
        yield opened


async def put(
    store: KnowledgeStore, name: str, text: str, collection: str = "docs", **labels: object
) -> Ingested:
    """Ingest a text and return the acknowledgement, which must come last."""
    events = [e async for e in store.documents.ingest(collection, name, text.encode(), **labels)]  # type: ignore[arg-type]  # labels are the method's own keywords
    assert all(isinstance(event, IngestProgress) for event in events[:-1])
    assert isinstance(events[-1], Ingested)
    return events[-1]


def long_text(word: str, paragraphs: int = 12) -> str:
    return "\n\n".join(f"{word} paragraph {n} " + "and so on " * 30 for n in range(paragraphs))


def tables_in(folder: Path) -> list[Path]:
    return list(folder.glob("chunks_*"))


async def contents(store: KnowledgeStore, query: str) -> list[tuple[str, str]]:
    found = await store.passages.search("docs", query, top_k=1_000, mode="text")
    return sorted((passage.document, passage.text.split()[0]) for passage in found)


async def test_collections_are_made_listed_by_page_and_deleted(store: KnowledgeStore) -> None:
    for name in ("b", "4", "a.b-c_d", "z" * 63):
        await store.collections.create(name, title=f"Title of {name}")
    made = await store.collections.get("4")
    assert (made.title, made.backend, made.model, made.dim) == (
        "Title of 4",
        "embedded",
        "hashed-words",
        64,
    )
    names = ["4", "a.b-c_d", "b", "docs", "z" * 63]
    assert [c.name for c in await store.collections.listed()] == names
    assert [c.name for c in await store.collections.listed(after="a.b-c_d", limit=2)] == names[2:4]
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
    assert [c.name for c in await folder_store.collections.listed()] == ["docs"]


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
    database = await lancedb.connect_async(str(tmp_path / "store"))
    async with asyncio.timeout(60):
        while True:
            stats: Any = await (await database.open_table(table.stem)).stats()
            if stats["fragment_stats"]["num_fragments"] == 1:
                break
            await asyncio.sleep(0.1)
    assert len(await contents(folder_store, "text")) == 12


async def test_upkeep_of_a_collection_that_is_gone_is_nothing(store: KnowledgeStore) -> None:
    await store.tidy("gone")
    assert [each.name for each in await store.collections.listed()] == ["docs"]


async def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="Check its path"):
        async with open_store(tmp_path / "file" / "store", HashingEmbedder()):
            pass


async def test_an_ingestion_that_outlives_the_store_is_not_blamed_on_the_document(
    place: Place,
) -> None:
    async with place.store(HashingEmbedder()) as store:
        await store.collections.create("docs")
        events = store.documents.ingest("docs", "a", long_text("word", 3_000).encode())
        await anext(events)
        running = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0)
    with pytest.raises(StorageError):
        await running


async def test_limits_are_checked(store: KnowledgeStore) -> None:
    for limit in (0, -1, 1_001):
        with pytest.raises(InvalidInputError, match="limit"):
            await store.documents.listed("docs", limit=limit)
        with pytest.raises(InvalidInputError, match="top_k"):
            await store.passages.search("docs", "x", top_k=limit)
    with pytest.raises(InvalidInputError, match="metadata"):
        await put(store, "a", "text", metadata={"k": "v" * 600_000})
    with pytest.raises(InvalidInputError, match="Unicode"):
        await put(store, "a", "text", uri="\ud800")


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
    async with open_store(
        here, HashingEmbedder(), pages=here / "pages", graphs=here / "graphs"
    ) as store:
        await store.collections.create("docs")
        await put(store, "a.txt", "weft and warp")
        assert (await store.documents.get("docs", "a.txt")).pages == 0
        assert await contents(store, "weft")
