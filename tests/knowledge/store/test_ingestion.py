"""What an ingestion keeps of a document, and what it does again of one that changed."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from heddle_knowledge.chunking.options import Chunking
from heddle_knowledge.collection.types import Document, Ingested, IngestProgress, Passage
from heddle_knowledge.store import KnowledgeStore
from knowledge.store.making import pdf
from knowledge.store.places import Place

from benchmarks.retrieval.hashing_embedder import HashingEmbedder

TIME = datetime(2020, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)


@pytest.fixture
async def store(place: Place, embedder: HashingEmbedder) -> AsyncIterator[KnowledgeStore]:
    async with place.store(embedder) as opened:
        await opened.collections.create("docs")
        yield opened


async def put(
    store: KnowledgeStore, name: str, text: str, time: datetime | None = None
) -> list[IngestProgress | Ingested]:
    events = store.documents.ingest("docs", name, text.encode(), document_time=time)
    return [event async for event in events]


async def kept(store: KnowledgeStore, name: str) -> tuple[Document, list[Passage]]:
    document = await store.documents.get("docs", name)
    return document, await store.passages.listed("docs", document, limit=1_000)


def paragraphs(count: int) -> list[str]:
    return [f"Paragraph {n} goes on." + " More of it follows here." * 16 for n in range(count)]


async def test_of_a_document_in_which_one_paragraph_changed_only_its_passage_is_embedded(
    store: KnowledgeStore, embedder: HashingEmbedder
) -> None:
    texts = paragraphs(200)
    await put(store, "a.txt", "\n\n".join(texts))
    spent = embedder.embedded
    assert spent == 200
    texts[100] = "Another paragraph stands here. " + texts[100]

    events = await put(store, "a.txt", "\n\n".join(texts))

    assert embedder.embedded - spent == 1
    assert IngestProgress("embedding", 199, 200) in events
    assert events[-1] == Ingested("a.txt", 200, replaced=True, unchanged=False)
    found = await store.passages.search("docs", "Another paragraph stands here", top_k=1)
    assert found[0].ordinal == 100
    _, passages = await kept(store, "a.txt")
    assert [passage.text for passage in passages] == texts


async def test_passages_that_moved_keep_their_vectors(
    store: KnowledgeStore, embedder: HashingEmbedder
) -> None:
    texts = [" ".join(f"{word}{n}" for word in ("one", "two", "three") * 20) for n in range(30)]
    await put(store, "a.txt", "\n\n".join(texts))
    spent = embedder.embedded
    await put(store, "a.txt", "\n\n".join(reversed(texts)))
    assert embedder.embedded == spent
    # A vector beside the wrong passage would show: the nearest one has exactly the words.
    (found,) = await store.passages.search("docs", texts[7], top_k=1, mode="vector")
    assert (found.ordinal, found.text) == (22, texts[7])
    assert found.score > 0.999


async def test_another_chunking_cuts_the_same_content_anew(place: Place) -> None:
    text = ("A sentence of some words. " * 200).strip()
    async with place.store(HashingEmbedder()) as store:
        made = await store.collections.create("docs")
        await put(store, "a.txt", text)
        assert (await put(store, "a.txt", text))[-1] == Ingested(
            "a.txt", 11, replaced=False, unchanged=True
        )
        await store.collections.change(replace(made, chunking=Chunking(200, 50, 900)))
    async with place.store(HashingEmbedder()) as store:
        (*_, last) = await put(store, "a.txt", text)
        assert isinstance(last, Ingested)
        assert last.replaced
        _, passages = await kept(store, "a.txt")
    assert all(len(passage.text) <= 400 for passage in passages)
    assert max(len(passage.parent_text) for passage in passages) <= 900
    assert passages[0].end > passages[1].start


async def test_passages_stand_where_they_say(store: KnowledgeStore) -> None:
    texts = paragraphs(20)
    await put(store, "a.txt", "\n\n".join(texts))
    _, passages = await kept(store, "a.txt")
    text = "\n\n".join(texts)
    assert all(text[passage.start : passage.end] == passage.text for passage in passages)
    (found,) = await store.passages.search("docs", "Paragraph 7", top_k=1, mode="text")
    assert text[found.start : found.end] == found.text


async def test_passages_are_listed_from_an_ordinal_on_and_of_one_version_only(
    store: KnowledgeStore,
) -> None:
    await put(store, "a.txt", "\n\n".join(paragraphs(20)))
    await put(store, "b.txt", "\n\n".join(paragraphs(20)))
    document = await store.documents.get("docs", "a.txt")
    some = await store.passages.listed("docs", document, 5, 3)
    assert [(passage.document, passage.ordinal) for passage in some] == [
        ("a.txt", 5),
        ("a.txt", 6),
        ("a.txt", 7),
    ]
    await put(store, "a.txt", "changed")
    assert await store.passages.listed("docs", document) == []


async def test_a_document_is_of_the_time_that_came_with_it_else_of_its_own(
    store: KnowledgeStore, embedder: HashingEmbedder
) -> None:
    text = "---\ndate: 2015-06-07\n---\ntext"
    own = datetime(2015, 6, 7, tzinfo=UTC)
    await put(store, "a.md", text)
    spent = embedder.embedded
    for given, expected in ((TIME, TIME), (None, own), (datetime(1, 1, 1, tzinfo=UTC), None)):
        await put(store, "a.md", text, given)
        document, passages = await kept(store, "a.md")
        assert document.document_time == (expected or given)
        assert {passage.document_time for passage in passages} == {document.document_time}
    assert embedder.embedded == spent


async def test_a_document_that_tells_no_time_is_of_its_first_ingestion(
    store: KnowledgeStore,
) -> None:
    await put(store, "a.txt", "text")
    first, _ = await kept(store, "a.txt")
    await put(store, "a.txt", "text")
    again, _ = await kept(store, "a.txt")
    assert first.document_time == first.ingested_at == again.document_time
    assert datetime.now(UTC) - first.ingested_at < timedelta(minutes=5)


async def test_the_pages_of_a_document_are_counted(store: KnowledgeStore) -> None:
    async for _ in store.documents.ingest("docs", "a.pdf", pdf("one", "", "three")):
        pass
    document, passages = await kept(store, "a.pdf")
    assert document.pages == 3
    assert [passage.page for passage in passages] == [1, 3]
