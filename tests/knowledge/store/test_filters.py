"""Filters: which documents a search may find, alike in every engine."""

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta

import pytest
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_knowledge.collection.names import document_id
from heddle_knowledge.collection.types import Mode
from heddle_knowledge.engines.conditions import Condition
from heddle_knowledge.service.filtering import search_condition
from heddle_knowledge.store import KnowledgeStore
from knowledge.store.places import Place
from knowledge.store.vector_indexes import is_indexed
from runtime.examples import mostly_on

from benchmarks.retrieval.hashing_embedder import HashingEmbedder

DOCUMENTS: Mapping[str, Mapping[str, str]] = {
    "one.md": {"year": "9", "course": "Weaving", "note": 'it\'s 100% \\ _odd_ "x"'},
    "two.md": {"year": "10", "course": "weaving"},
    "three.txt": {"year": "1e2", "course": "Weaving, advanced"},
    "four.txt": {"year": "unknown", "courses": "Weaving"},
    "five.txt": {},
}
EVERY = set(DOCUMENTS)
MODES: tuple[Mode, ...] = ("hybrid", "vector", "text")


@pytest.fixture
async def store(place: Place) -> AsyncIterator[KnowledgeStore]:
    async with place.store(HashingEmbedder()) as opened:
        await opened.collections.create("docs")
        for name, metadata in DOCUMENTS.items():
            text = f"heddles guide the warp of {name}".encode()
            async for _ in opened.documents.ingest("docs", name, text, metadata=metadata):
                pass
        yield opened


async def found(
    store: KnowledgeStore,
    expression: pb.Filter | None,
    mode: Mode = "hybrid",
    *,
    time_from: datetime | None = None,
    time_to: datetime | None = None,
) -> set[str]:
    request = pb.SearchCollectionsRequest(filter=expression)
    if time_from:
        request.document_time_from.FromDatetime(time_from)
    if time_to:
        request.document_time_to.FromDatetime(time_to)
    where = search_condition(request)
    passages = await store.passages.search("docs", "warp", top_k=100, mode=mode, where=where)
    return {passage.document for passage in passages}


def of(key: str, operator: str, *values: str) -> pb.Filter:
    number = pb.Operator.Value(f"OPERATOR_{operator.upper()}")
    return pb.Filter(comparison=pb.Comparison(key=key, operator=number, values=values))


def every(*filters: pb.Filter) -> pb.Filter:
    return pb.Filter(all=pb.Filters(filters=filters))


def matching(expression: pb.Filter) -> Condition:
    return search_condition(pb.SearchCollectionsRequest(filter=expression))


CASES: list[tuple[pb.Filter, set[str]]] = [
    (of("course", "equal", "Weaving"), {"one.md"}),
    (of("course", "not_equal", "Weaving"), EVERY - {"one.md"}),
    (of("course", "in", "Weaving", "weaving"), {"one.md", "two.md"}),
    (of("course", "not_in", "Weaving", "weaving"), EVERY - {"one.md", "two.md"}),
    (of("absent", "equal", "x"), set()),
    (of("absent", "not_equal", "x"), EVERY),
    (of("absent", "less", "x"), set()),
    (of("absent", "greater_or_equal", ""), set()),
    # As numbers where both are, else as text: "unknown" is after every digit.
    (of("year", "less", "10"), {"one.md"}),
    (of("year", "less_or_equal", "10"), {"one.md", "two.md"}),
    (of("year", "greater", "10"), {"three.txt", "four.txt"}),
    (of("year", "greater_or_equal", "+1.0e1"), {"two.md", "three.txt", "four.txt"}),
    (of("year", "greater", "a"), {"four.txt"}),
    (of("note", "equal", 'it\'s 100% \\ _odd_ "x"'), {"one.md"}),
    (of("note", "equal", "it's 100% \\ _odd_"), set()),
    (of("note", "greater_or_equal", "it's"), {"one.md"}),
    (of("no'te", "equal", "' OR true --"), set()),
    (of("no'te", "less", "' OR true --"), set()),
    (of("title", "equal", "two.md"), {"two.md"}),
    (of("document", "not_in", "one.md", "it's"), EVERY - {"one.md"}),
    (of("document", "less", "one.md"), {"five.txt", "four.txt"}),
    (of("media_type", "equal", "text/markdown"), {"one.md", "two.md"}),
    (of("uri", "equal", ""), EVERY),
    (every(of("media_type", "equal", "text/markdown"), of("year", "greater", "9")), {"two.md"}),
    (
        pb.Filter(
            any=pb.Filters(
                filters=[of("year", "equal", "9"), every(of("courses", "equal", "Weaving"))]
            )
        ),
        {"one.md", "four.txt"},
    ),
]


async def test_every_operator_finds_the_documents_that_it_means(store: KnowledgeStore) -> None:
    for expression, documents in CASES:
        for mode in MODES:
            assert await found(store, expression, mode) == documents, (expression, mode)


async def test_a_document_is_found_by_its_identifier(store: KnowledgeStore) -> None:
    known = await store.passages.search(
        "docs", "warp", top_k=1, where=matching(of("document", "in", "one.md"))
    )
    assert [passage.document for passage in known] == ["one.md"]
    collection = await store.collections.get("docs")
    expression = of("document_id", "equal", document_id(collection.id, "two.md"))
    assert await found(store, expression) == {"two.md"}


async def test_new_metadata_is_what_filters_see(store: KnowledgeStore) -> None:
    async for _ in store.documents.ingest("docs", "one.md", b"heddles guide the warp of one.md"):
        pass
    assert await found(store, of("course", "equal", "Weaving")) == set()
    assert await found(store, of("course", "not_equal", "Weaving")) == EVERY


async def test_a_range_of_times_is_open_at_its_end(store: KnowledgeStore) -> None:
    now, hour = datetime.now(UTC), timedelta(hours=1)
    assert await found(store, None, time_from=now - hour) == EVERY
    assert await found(store, None, time_from=now + hour) == set()
    assert await found(store, None, time_to=now - hour) == set()
    document = await store.documents.get("docs", "one.md")
    timestamp = document.ingested_at
    before = await found(store, None, time_to=timestamp)
    assert "one.md" not in before
    assert "one.md" in await found(store, None, time_from=timestamp)


@mostly_on("place", "postgresql", "folder")
async def test_a_selective_filter_fills_the_answer_whatever_the_index(place: Place) -> None:
    async with place.store(HashingEmbedder(), ann_rows=100) as store:
        await store.collections.create("docs")
        many = "\n\n".join(f"warp warp number{n} " + "thread " * 60 for n in range(400))
        few = "\n\n".join(f"weft number{n} " + "shuttle " * 60 for n in range(7))
        for name, text in (("many", many), ("few", few)):
            labels = {"kind": name}
            async for _ in store.documents.ingest("docs", name, text.encode(), metadata=labels):
                pass
        await store.tidy("docs")
        assert await is_indexed(place, store, "docs")
        where = matching(of("kind", "equal", "few"))
        for mode in ("hybrid", "vector"):
            passages = await store.passages.search(
                "docs", "warp warp", top_k=7, mode=mode, where=where
            )
            assert [passage.document for passage in passages] == ["few"] * 7
