"""`heddle.knowledge.v1.KnowledgeService`, over real calls, on a real store."""

from collections.abc import AsyncGenerator, Awaitable
from pathlib import Path
from typing import Any, TypeVar

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle.knowledge.v1 import knowledge_pb2_grpc as pb_grpc
from heddle_runtime.errors import (
    AlreadyExistsError,
    HeddleError,
    InvalidRequestError,
    NotFoundError,
    NotSetUpError,
    from_rpc,
    from_status,
)
from heddle_runtime.identity.call_metadata import new_call_options
from knowledge.knowledge_serving import knowledge_service
from knowledge.pages.pdfs import pdf
from tools_service.serving import SETTINGS

ResponseT = TypeVar("ResponseT")
GUIDE = b"# Looms\n\n## Sheds\n\nA shed is the gap between the threads.\n\n## Heddles\n\nA loop."


@pytest.fixture
async def stub(tmp_path: Path) -> AsyncGenerator["pb_grpc.KnowledgeServiceAsyncStub"]:
    async with knowledge_service(tmp_path, SETTINGS) as connected:
        yield connected


async def answered(call: Awaitable[ResponseT]) -> ResponseT:
    try:
        return await call
    except grpc.aio.AioRpcError as error:
        raise from_rpc(error) from error


async def create(
    stub: "pb_grpc.KnowledgeServiceAsyncStub", name: str, **fields: Any
) -> pb.Collection:
    request = pb.CreateCollectionRequest(collection=pb.Collection(name=name, **fields))
    return (await answered(stub.CreateCollection(request, **new_call_options(10)))).collection


async def ingest(
    stub: "pb_grpc.KnowledgeServiceAsyncStub", name: str, data: bytes = GUIDE, **fields: Any
) -> list[pb.IngestDocumentResponse]:
    request = pb.IngestDocumentRequest(collection="looms", name=name, data=data, **fields)
    try:
        return [event async for event in stub.IngestDocument(request, **new_call_options(30))]
    except grpc.aio.AioRpcError as error:
        raise from_rpc(error) from error


async def searched(
    stub: "pb_grpc.KnowledgeServiceAsyncStub", request: pb.SearchCollectionsRequest
) -> pb.CollectionPassages:
    """Return the result of the one collection that the request names."""
    response = await answered(stub.SearchCollections(request, **new_call_options(10)))
    (result,) = response.results
    if result.HasField("error"):
        raise from_status(result.error)
    return result


async def test_a_document_is_ingested_with_progress_and_found(
    stub: "pb_grpc.KnowledgeServiceAsyncStub",
) -> None:
    made = await create(stub, "looms", title="Looms")
    assert (made.backend, made.document_count) == ("embedded", 0)
    assert made.embedding_model == "hashed-words"

    *progress, last = await ingest(stub, "guides/loom.md", uri="http://w/loom")
    again = await ingest(stub, "guides/loom.md", uri="http://w/loom")
    request = pb.SearchCollectionsRequest(collections=["looms"], query="what is a shed", top_k=1)
    found = await searched(stub, request)
    got = await answered(
        stub.GetCollection(pb.GetCollectionRequest(name="looms"), **new_call_options(10))
    )

    told = [(event.progress.stage, event.progress.done, event.progress.total) for event in progress]
    assert told == [
        ("parsing", 0, 1),
        ("parsing", 1, 1),
        ("embedding", 0, 2),
        ("embedding", 2, 2),
        ("saving", 0, 1),
    ]
    document = last.ingested.document
    assert (document.name, document.title) == ("guides/loom.md", "Looms")
    assert (document.uri, document.media_type) == ("http://w/loom", "text/markdown")
    assert len(document.sha256) == 64
    assert document.passage_count == 2
    assert again[-1].ingested.unchanged
    assert again[-1].ingested.document == document
    [passage] = found.passages
    assert "gap between the threads" in passage.text
    assert (passage.document, passage.title, passage.uri) == (
        "guides/loom.md",
        "Looms",
        "http://w/loom",
    )
    assert list(passage.headings)[-1] == "Sheds"
    assert passage.similarity > 0
    assert got.collection.document_count == 1


async def test_a_search_is_ordered_as_its_request_says(
    stub: "pb_grpc.KnowledgeServiceAsyncStub",
) -> None:
    await create(stub, "looms")
    await ingest(stub, "shed.txt", b"Shed, shed, shed, shed, and nothing else but a shed.")
    await ingest(stub, "warp.txt", b"The warp is what is lifted to make a shed.")
    query = "what is lifted shed shed"

    async def relevance(**fields: Any) -> dict[str, float]:
        request = pb.SearchCollectionsRequest(collections=["looms"], query=query, **fields)
        found = await searched(stub, request)
        return {passage.document: passage.relevance for passage in found.passages}

    by_words = await relevance(vector_weight=0.0)
    by_meaning = await relevance(vector_weight=1.0)
    assert max(by_words.values()) == max(by_meaning.values()) == 1
    assert min(by_words.values()) > min(by_meaning.values()) == 0
    young = await relevance(recency_weight=1.0, vector_weight=1.0)
    assert young == pytest.approx(by_meaning, abs=1e-4)


async def test_a_collection_has_a_language_and_may_change_it(
    stub: "pb_grpc.KnowledgeServiceAsyncStub",
) -> None:
    assert (await create(stub, "plain")).language == "en"
    assert (await create(stub, "looms", language="de-AT")).language == "de"
    with pytest.raises(InvalidRequestError) as refused:
        await create(stub, "others", language="tlh")
    [violation] = refused.value.violations
    assert violation.field == "collection.language"
    assert "sv, ta, th, tr, zh, or 'und'" in violation.description

    async def update(language: str) -> str:
        request = pb.UpdateCollectionRequest(name="looms", language=language)
        changed = await answered(stub.UpdateCollection(request, **new_call_options(10)))
        return changed.collection.language

    assert await update("sv") == "sv"
    assert await update("") == "sv"
    with pytest.raises(InvalidRequestError) as refused:
        await update("tlh")
    assert [violation.field for violation in refused.value.violations] == ["language"]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"recency_weight": 1.5}, "recency_weight"),
        ({"recency_weight": float("nan")}, "recency_weight"),
        ({"mode": 99}, "mode"),
        ({"vector_weight": -0.5}, "vector_weight"),
        ({"document_time_to": Timestamp(seconds=1 << 60)}, "document_time_to"),
        ({"reranking": 99}, "reranking"),
    ],
)
async def test_a_search_beyond_the_contract_is_refused_by_its_field(
    stub: "pb_grpc.KnowledgeServiceAsyncStub", fields: dict[str, Any], field: str
) -> None:
    await create(stub, "looms")
    request = pb.SearchCollectionsRequest(collections=["looms"], query="x", **fields)
    with pytest.raises(InvalidRequestError) as refused:
        await searched(stub, request)
    assert [violation.field for violation in refused.value.violations] == [field]


async def test_a_reranking_that_is_not_set_up_is_a_failed_precondition(
    stub: "pb_grpc.KnowledgeServiceAsyncStub",
) -> None:
    await create(stub, "looms")
    request = pb.SearchCollectionsRequest(
        collections=["looms"], query="x", reranking=pb.RERANKING_MODEL
    )
    with pytest.raises(NotSetUpError):
        await searched(stub, request)


async def test_a_model_that_is_not_on_offer_is_refused_with_those_that_are(
    stub: "pb_grpc.KnowledgeServiceAsyncStub",
) -> None:
    with pytest.raises(InvalidRequestError, match="'hashed-words'"):
        await create(stub, "looms", embedding_model="bge-m3")


async def test_a_new_version_replaces_the_old_one(
    stub: "pb_grpc.KnowledgeServiceAsyncStub",
) -> None:
    await create(stub, "looms")
    await ingest(stub, "a.txt", b"The first version.")

    last = (await ingest(stub, "a.txt", b"The second version."))[-1]

    assert last.ingested.replaced
    assert not last.ingested.unchanged


async def test_documents_and_collections_are_listed_in_pages(
    stub: "pb_grpc.KnowledgeServiceAsyncStub",
) -> None:
    for name in ("looms", "a", "b"):
        await create(stub, name)
    for number in range(4):
        await ingest(stub, f"d{number}.txt", b"A text.")

    async def documents(token: str) -> tuple[list[str], str]:
        request = pb.ListDocumentsRequest(collection="looms", page_size=2, page_token=token)
        page = await answered(stub.ListDocuments(request, **new_call_options(10)))
        return [each.name for each in page.documents], page.next_page_token

    async def collections(token: str) -> tuple[list[str], str]:
        request = pb.ListCollectionsRequest(page_size=2, page_token=token)
        page = await answered(stub.ListCollections(request, **new_call_options(10)))
        return [each.name for each in page.collections], page.next_page_token

    first, token = await documents("")
    second, end = await documents(token)
    assert (first, second, end) == (["d0.txt", "d1.txt"], ["d2.txt", "d3.txt"], "")
    first, token = await collections("")
    second, end = await collections(token)
    assert (first, second, end) == (["a", "b"], ["looms"], "")


async def test_documents_and_collections_are_deleted(
    stub: "pb_grpc.KnowledgeServiceAsyncStub",
) -> None:
    await create(stub, "looms")
    await ingest(stub, "a.txt", b"A text.")
    document = pb.DeleteDocumentRequest(collection="looms", name="a.txt")
    collection = pb.DeleteCollectionRequest(name="looms")

    await answered(stub.DeleteDocument(document, **new_call_options(10)))
    with pytest.raises(NotFoundError, match=r"a\.txt"):
        await answered(stub.DeleteDocument(document, **new_call_options(10)))
    await answered(stub.DeleteCollection(collection, **new_call_options(10)))
    with pytest.raises(NotFoundError, match="looms"):
        await answered(stub.DeleteCollection(collection, **new_call_options(10)))


async def test_a_collection_of_a_server_is_only_registered(
    stub: "pb_grpc.KnowledgeServiceAsyncStub",
) -> None:
    made = await create(stub, "course", backend="lamb-kb", settings={"collection_id": "42"})

    assert dict(made.settings) == {"collection_id": "42"}
    request = pb.SearchCollectionsRequest(collections=["course"], query="?")
    with pytest.raises(NotSetUpError, match="no knowledge-base server is configured"):
        await searched(stub, request)


@pytest.mark.parametrize(
    ("name", "fields", "field"),
    [
        ("a", {"backend": "elsewhere"}, "collection.backend"),
        ("a", {"backend": "lamb-kb", "settings": {"token": "x"}}, "collection.settings.token"),
        ("a", {"settings": {"token": "x"}}, "collection.settings.token"),
        ("a", {"title": "x" * 301}, "collection.title"),
        ("", {}, "collection.name"),
    ],
)
async def test_a_collection_that_cannot_be_is_refused(
    stub: "pb_grpc.KnowledgeServiceAsyncStub", name: str, fields: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        await create(stub, name, **fields)

    assert [violation.field for violation in caught.value.violations] == [field]


@pytest.mark.parametrize(
    ("fields", "field"),
    [({"top_k": 101}, "top_k"), ({"top_k": -1}, "top_k"), ({"threshold": 1.5}, "threshold")],
)
async def test_a_search_for_too_much_is_refused(
    stub: "pb_grpc.KnowledgeServiceAsyncStub", fields: dict[str, Any], field: str
) -> None:
    request = pb.SearchCollectionsRequest(collections=["looms"], query="?", **fields)
    with pytest.raises(InvalidRequestError) as caught:
        await searched(stub, request)

    assert [violation.field for violation in caught.value.violations] == [field]


@pytest.mark.parametrize(
    ("name", "data", "fields", "kind"),
    [
        ("a.pdf", b"no pdf", {}, InvalidRequestError),
        ("a.bin", b"\x00\x01", {}, InvalidRequestError),
        ("a.txt", b"   ", {}, InvalidRequestError),
        ("a\n.txt", b"A text.", {}, InvalidRequestError),
        ("x" * 513, b"A text.", {"media_type": "text/plain"}, InvalidRequestError),
        ("a.txt", b"", {}, InvalidRequestError),
    ],
)
async def test_a_document_that_cannot_be_read_is_refused(
    stub: "pb_grpc.KnowledgeServiceAsyncStub",
    name: str,
    data: bytes,
    fields: dict[str, Any],
    kind: type[HeddleError],
) -> None:
    await create(stub, "looms")
    with pytest.raises(kind):
        await ingest(stub, name, data, **fields)


async def test_what_is_there_or_not_is_told(stub: "pb_grpc.KnowledgeServiceAsyncStub") -> None:
    with pytest.raises(NotFoundError):
        await ingest(stub, "a.txt")
    await create(stub, "looms")
    with pytest.raises(AlreadyExistsError):
        await create(stub, "looms")


async def test_what_belongs_to_a_document_comes_back_with_it_and_its_passages(
    stub: "pb_grpc.KnowledgeServiceAsyncStub",
) -> None:
    await create(stub, "looms")
    time = Timestamp(seconds=1_600_000_000)
    *_, last = await ingest(stub, "a.md", metadata={"course": "2"}, document_time=time)
    search = pb.SearchCollectionsRequest(collections=["looms"], query="shed", top_k=1)
    (found,) = (await searched(stub, search)).passages

    document = last.ingested.document
    assert (dict(document.metadata), document.document_time) == ({"course": "2"}, time)
    assert (dict(found.metadata), found.document_time) == ({"course": "2"}, time)
    assert (found.document_id, found.id) == (document.id, f"{document.id}:{found.ordinal}")
    assert found.relevance > 0


async def test_a_document_without_a_date_is_of_the_time_of_its_ingestion(
    stub: "pb_grpc.KnowledgeServiceAsyncStub",
) -> None:
    await create(stub, "looms")
    *_, last = await ingest(stub, "a.md")
    assert last.ingested.document.document_time == last.ingested.document.ingest_time


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"metadata": {str(n): "" for n in range(65)}}, "metadata"),
        ({"metadata": {"k" * 65: ""}}, "metadata." + "k" * 65),
        ({"metadata": {"": "v"}}, "metadata."),
        ({"metadata": {"k": "v" * 1_025}}, "metadata.k"),
        ({"uri": "u" * 2_049}, "uri"),
        ({"document_time": Timestamp(seconds=1 << 60)}, "document_time"),
    ],
)
async def test_what_cannot_belong_to_a_document_is_told_by_its_place(
    stub: "pb_grpc.KnowledgeServiceAsyncStub", fields: dict[str, Any], path: str
) -> None:
    await create(stub, "looms")
    with pytest.raises(InvalidRequestError) as caught:
        await ingest(stub, "a.md", **fields)
    assert [violation.field for violation in caught.value.violations] == [path]


async def test_the_passages_of_a_document_are_listed_in_pages_with_their_places(
    stub: "pb_grpc.KnowledgeServiceAsyncStub",
) -> None:
    await create(stub, "looms")
    *_, last = await ingest(stub, "a.md")
    request = pb.ListPassagesRequest(
        collection="looms", document=last.ingested.document.id, page_size=1
    )

    first = await answered(stub.ListPassages(request, **new_call_options(10)))
    request.page_token = first.next_page_token
    second = await answered(stub.ListPassages(request, **new_call_options(10)))

    assert second.next_page_token == ""
    passages = [*first.passages, *second.passages]
    text = "Looms\n\nSheds\n\nA shed is the gap between the threads.\n\nHeddles\n\nA loop."
    assert [text[p.start_offset : p.end_offset] for p in passages] == [p.text for p in passages]
    assert [(p.ordinal, list(p.headings)) for p in passages] == [
        (0, ["Looms", "Sheds"]),
        (1, ["Looms", "Heddles"]),
    ]
    assert {p.similarity for p in passages} == {0.0}


async def test_pages_of_passages_do_not_mix_versions_of_a_document(
    stub: "pb_grpc.KnowledgeServiceAsyncStub",
) -> None:
    await create(stub, "looms")
    await ingest(stub, "a.md")
    request = pb.ListPassagesRequest(collection="looms", document="a.md", page_size=1)
    request.page_token = (
        await answered(stub.ListPassages(request, **new_call_options(10)))
    ).next_page_token
    await ingest(stub, "a.md", b"# Other\n\none\n\n# Text\n\ntwo")
    with pytest.raises(InvalidRequestError, match="ingested again"):
        await answered(stub.ListPassages(request, **new_call_options(10)))


async def test_passages_of_a_document_that_is_not_there_are_not_found(
    stub: "pb_grpc.KnowledgeServiceAsyncStub",
) -> None:
    await create(stub, "looms")
    for document in ("a.md", "doc_" + "0" * 32):
        request = pb.ListPassagesRequest(collection="looms", document=document)
        with pytest.raises(NotFoundError):
            await answered(stub.ListPassages(request, **new_call_options(10)))


@pytest.mark.exhaustive  # a store of pages shows the same order
async def test_pages_of_all_collections_are_in_the_order_of_their_relevance(
    stub: "pb_grpc.KnowledgeServiceAsyncStub",
) -> None:
    texts = {"looms": ["Sheep are shorn."], "manuals": ["A shed is a gap.", "A heddle is a loop."]}
    for collection, lines in texts.items():
        await create(stub, collection, page_handling=pb.PAGE_HANDLING_SEARCH)
        document = pb.IngestDocumentRequest(
            collection=collection, name=f"{collection}.pdf", data=pdf(*lines)
        )
        [_ async for _ in stub.IngestDocument(document, **new_call_options(60))]
    request = pb.SearchPagesRequest(collections=list(texts), query="What is a shed?")

    response = await answered(stub.SearchPages(request, **new_call_options(30)))

    best, *others = response.pages
    assert (best.document, best.page) == ("manuals.pdf", 1)
    assert {page.document for page in others} == {"looms.pdf", "manuals.pdf"}
    scores = [page.score for page in response.pages]
    assert scores == sorted(scores, reverse=True)
