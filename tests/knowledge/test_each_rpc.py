"""RPCs that tools use, called over gRPC: what they answer, and with which code they fail."""

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
import pytest
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_knowledge.embedders.embedding import Embedder
from heddle_runtime.identity.call_metadata import new_call_options
from knowledge.graph_corpus import DOCUMENTS
from knowledge.knowledge_serving import knowledge_service
from knowledge.store.making import pdf
from tools_service.serving import SETTINGS

from benchmarks.retrieval.hashing_embedder import HashingEmbedder

if TYPE_CHECKING:  # a class of the stubs alone
    from heddle.knowledge.v1.knowledge_pb2_grpc import KnowledgeServiceAsyncStub

GUIDE = pdf("A shed is a gap.", "A heddle is a loop.")
NOT_FOUND, INVALID = grpc.StatusCode.NOT_FOUND, grpc.StatusCode.INVALID_ARGUMENT


async def embedders() -> Sequence[Embedder]:
    return [HashingEmbedder()]


@pytest.fixture
async def stub(tmp_path: Path) -> AsyncGenerator["KnowledgeServiceAsyncStub"]:
    async with knowledge_service(tmp_path, SETTINGS, embedders=embedders) as connected:
        yield connected


async def put(
    stub: "KnowledgeServiceAsyncStub", collection: pb.Collection, documents: dict[str, bytes]
) -> None:
    create = pb.CreateCollectionRequest(collection=collection)
    await stub.CreateCollection(create, **new_call_options(30))
    for name, data in documents.items():
        request = pb.IngestDocumentRequest(collection=collection.name, name=name, data=data)
        [_ async for _ in stub.IngestDocument(request, **new_call_options(60))]


async def test_texts_are_embedded_in_their_order(stub: "KnowledgeServiceAsyncStub") -> None:
    request = pb.EmbedTextsRequest(texts=["shed", "heddle", "shed"])
    response = await stub.EmbedTexts(request, **new_call_options(10))

    first, second, third = response.embeddings
    assert (first, response.model, len(first.values)) == (third, "hashed-words", 64)
    assert first != second
    assert sum(value**2 for value in first.values) == pytest.approx(1, abs=1e-5)
    for wrong in (
        pb.EmbedTextsRequest(texts=["x"] * 257),
        pb.EmbedTextsRequest(texts=["x" * 32_001]),
        pb.EmbedTextsRequest(texts=["x"], model="bge-m3"),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.EmbedTexts(wrong, **new_call_options(10))
        assert caught.value.code() is INVALID


@pytest.mark.exhaustive
async def test_graphs_answer_with_themes_and_paths(stub: "KnowledgeServiceAsyncStub") -> None:
    texts = {name: text.encode() for name, text in DOCUMENTS.items()}
    await put(stub, pb.Collection(name="films", graph=True), texts)
    collections = ["films", "nowhere"]

    listing = pb.ListGraphThemesRequest(collections=collections, max_themes=1)
    themes = await stub.ListGraphThemes(listing, **new_call_options(60))
    finding = pb.FindGraphPathsRequest(
        collections=collections, start="Ed Wood", end="Scott Derrickson"
    )
    paths = await stub.FindGraphPaths(finding, **new_call_options(60))
    finding.end = "Ed Wodd"
    unknown = await stub.FindGraphPaths(finding, **new_call_options(60))

    assert themes.summary == paths.summary
    assert (themes.summary.document_count, themes.summary.foreign_document_count) == (3, 1)
    [theme] = themes.themes
    assert theme.entity_count >= len(theme.entities) > 1
    assert theme.evidence[0].collection == "films"
    assert theme.evidence[0].passage.title
    assert [link.end for link in paths.paths[0].links] == ["American", "Scott Derrickson"]
    assert [(each.entity, each.similar[0]) for each in unknown.unknown] == [("Ed Wodd", "Ed Wood")]
    for response in (themes, paths, unknown):
        [error] = response.errors
        assert (error.collection, error.error.code) == ("nowhere", NOT_FOUND.value[0])
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        listing.max_themes = 101
        await stub.ListGraphThemes(listing, **new_call_options(10))
    assert caught.value.code() is INVALID


async def test_documents_are_described_and_queried(stub: "KnowledgeServiceAsyncStub") -> None:
    await put(stub, pb.Collection(name="looms"), {"a.md": b"# A\n\none", "b.md": b"# B\n\ntwo"})
    collections = ["looms", "nowhere"]

    describing = pb.DescribeDocumentsRequest(collections=collections)
    described = await stub.DescribeDocuments(describing, **new_call_options(30))
    query = pb.QueryDocumentsRequest(
        collections=collections, sql="SELECT title, size FROM documents ORDER BY title", max_rows=1
    )
    answer = await stub.QueryDocuments(query, **new_call_options(30))

    assert described.document_count == 2
    assert [table.name for table in described.tables] == ["documents", "metadata"]
    columns = {column.name: column for column in described.tables[0].columns}
    assert columns["size"].type == "INTEGER"
    assert [cell.text for cell in columns["title"].examples] == ["A", "B"]
    assert (list(answer.columns), answer.truncated) == (["title", "size"], True)
    assert [(row.cells[0].text, row.cells[1].integer) for row in answer.rows] == [("A", 8)]
    assert [error.collection for error in answer.errors] == ["nowhere"]
    query.sql = "DELETE FROM documents"
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stub.QueryDocuments(query, **new_call_options(30))
    assert caught.value.code() is INVALID
    assert "SELECT" in (caught.value.details() or "")


async def test_pages_are_shown_and_interpreted(stub: "KnowledgeServiceAsyncStub") -> None:
    await put(stub, pb.Collection(name="looms"), {"a.pdf": GUIDE})
    names = {"collection": "looms", "document": "a.pdf"}

    page = await stub.GetPage(pb.GetPageRequest(page=1, **names), **new_call_options(10))
    picture = await stub.GetPagePicture(
        pb.GetPagePictureRequest(collection="looms", document="a.pdf", page=1),
        **new_call_options(10),
    )
    seen = await stub.InterpretPage(
        pb.InterpretPageRequest(page=1, prompt="What is it?", **names), **new_call_options(10)
    )
    search = pb.SearchPagesRequest(collections=["looms", "nowhere"], query="a shed")
    found = await stub.SearchPages(search, **new_call_options(10))

    assert (page.page.document, page.page.page, page.page.score) == ("a.pdf", 1, 0.0)
    assert (picture.media_type, len(picture.sha256)) == ("image/webp", 64)
    assert picture.data.startswith(b"RIFF")
    assert not seen.visual
    codes = {error.collection: error.error.code for error in found.errors}
    unsuitable = grpc.StatusCode.FAILED_PRECONDITION.value[0]
    assert codes == {"looms": unsuitable, "nowhere": NOT_FOUND.value[0]}
    assert (list(found.pages), found.model) == ([], "")
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stub.GetPage(pb.GetPageRequest(page=99, **names), **new_call_options(10))
    assert caught.value.code() is NOT_FOUND


async def test_a_collection_is_counted(stub: "KnowledgeServiceAsyncStub") -> None:
    await put(stub, pb.Collection(name="looms"), {"a.md": b"# A\n\none", "b.pdf": GUIDE})

    request = pb.GetCollectionStatisticsRequest(collection="looms")
    counted = await stub.GetCollectionStatistics(request, **new_call_options(10))

    assert counted.document_count == 2
    assert counted.passage_count > counted.page_count > 0
