"""What stays inside: paths, tokens, questions, and links that are none."""

import gzip
from typing import Any

import pytest
from heddle_knowledge.collection.access import Owner
from heddle_knowledge.store import KnowledgeStore
from heddle_migration_service.searches.client import KnowledgeServer
from heddle_runtime.errors import HeddleError, ToolFailedError
from knowledge.kb_server import KnowledgeBaseServer, hit
from structlog.testing import capture_logs
from tools_service.knowledge_bases.asking import ASKED, TOKEN, serving_with
from tools_service.serving import said, text_of


@pytest.mark.parametrize(
    ("collection", "path"),
    [
        ("../admin", "/collections/..%2Fadmin/query"),
        ("1%2F..%2Fadmin", "/collections/1%252F..%252Fadmin/query"),
        ("1?x=", "/collections/1%3Fx%3D/query"),
        ("1#", "/collections/1%23/query"),
        ("1\r\nHost: evil", "/collections/1%0D%0AHost%3A%20evil/query"),
        ("a/b\\c é", "/collections/a%2Fb%5Cc%20%C3%A9/query"),
    ],
)
async def test_an_identifier_stays_one_segment_of_the_path(
    store: KnowledgeStore, server: KnowledgeBaseServer, collection: str, path: str
) -> None:
    async with serving_with(store, server) as client:
        with pytest.raises(ToolFailedError, match="404"):
            await client.run("simple_rag", {"collections": [collection]}, ASKED)

    assert server.paths == [path]


@pytest.mark.parametrize("collection", [".", "..", "x" * 300])
async def test_an_identifier_that_cannot_be_one_is_not_sent(
    store: KnowledgeStore, server: KnowledgeBaseServer, collection: str
) -> None:
    async with serving_with(store, server) as client:
        with pytest.raises(ToolFailedError, match="its identifier must have 1 to 256 characters"):
            await client.run("simple_rag", {"collections": [collection]}, ASKED)

    assert server.paths == []


async def test_a_compressed_answer_is_not_unpacked(
    store: KnowledgeStore, server: KnowledgeBaseServer
) -> None:
    bomb = gzip.compress(gzip.compress(b" " * 32 * 1024**2))  # packed again and again, all fits in
    server.answers, server.packing = {"1": bomb}, "gzip, gzip"
    async with serving_with(store, server) as client:
        with pytest.raises(ToolFailedError, match="compresses its answers against the request"):
            await client.run("simple_rag", {"collections": ["1"]}, ASKED)

    assert server.headers[0]["Accept-Encoding"] == "identity"


async def test_neither_logs_nor_errors_repeat_question_owner_or_token(
    store: KnowledgeStore, server: KnowledgeBaseServer
) -> None:
    async def broken(_: Owner) -> KnowledgeServer | None:
        raise RuntimeError(f"no organisation has the token {TOKEN}")

    context = said("my private question", owner="ana@example.org")
    with capture_logs() as logs:
        for server_of, answer in ((None, 500), (None, 401), (None, b"{"), (broken, 200)):
            server.answers = {"1": answer}
            async with serving_with(store, server, server_of=server_of) as client:
                with pytest.raises(HeddleError) as caught:
                    await client.run("simple_rag", {"collections": ["1"]}, context)
            logs.append({"error": repr(caught.value)})

    assert len(logs) > 8
    for secret in ("private question", "ana@example.org", TOKEN, "sk-leaked"):
        assert secret not in repr(logs)


@pytest.mark.parametrize(
    "odd",
    [
        {"filename": "\ud800"},
        {"page": 2**31, "chunk_index": 2**31},
        {"page": "9" * 5_000, "chunk_index": "9" * 5_000},
        {"document_id": 7, "chunk_id": ["x"]},
    ],
)
async def test_odd_metadata_does_not_lose_a_passage(
    store: KnowledgeStore, server: KnowledgeBaseServer, odd: dict[str, Any]
) -> None:
    server.answers = {"1": {"results": [hit("half \ud800", 10**400, **odd), hit("whole")]}}
    async with serving_with(store, server) as client:
        _, result = await client.run("simple_rag", {"collections": ["1"]}, ASKED)

    assert text_of(result) == "half \ufffd\n\nwhole"
    assert not result.warnings


async def test_links_are_the_most_helpful_ones_and_never_scripts(
    store: KnowledgeStore, server: KnowledgeBaseServer
) -> None:
    server.answers = {
        "1": {
            "results": [
                hit("video", source_url="https://video.example/1", file_url="/v", video_title="V"),
                hit("paper", original_file_url="/o.pdf", markdown_file_url="/o.md", page=3),
                hit("evil", source_url="javascript:alert(1)", file_url="javascript:alert(2)"),
                "not a hit",
            ]
        }
    }
    async with serving_with(store, server) as client:
        _, result = await client.run("simple_rag", {"collections": ["1"]}, ASKED)

    video, paper, evil = result.sources
    assert (video.title, video.uri) == ("V", "https://video.example/1")
    assert paper.uri == f"{server.url}/o.pdf"
    assert dict(paper.attributes) == {
        "original_url": f"{server.url}/o.pdf",
        "markdown_url": f"{server.url}/o.md",
        "page": "3",
    }
    assert evil.uri == f"{server.url}/javascript:alert(2)"


@pytest.mark.parametrize(
    ("link", "uri"),
    [
        ("/docs/1/library/item/content/pages/2.md", "/docs/1/library/item/content/pages/2.md"),
        ("https://lamb.example/docs/1", "https://lamb.example/docs/1"),
        ("//evil.example/docs/1", ""),
        ("/docs/1) [evil](https://evil.example", ""),
        ("/creator/logout", ""),
        ("/docs/../creator/logout", ""),
        ("/docs/1/%2E%2e/creator", ""),
        ("javascript:alert(1)", ""),
    ],
)
async def test_links_of_knowledge_stores_are_those_of_lamb(
    store: KnowledgeStore, server: KnowledgeBaseServer, link: str, uri: str
) -> None:
    server.answers = {"1": {"results": [hit("dye", filename="dye.md", permalink_page=link)]}}
    async with serving_with(store, server) as client:
        _, result = await client.run("simple_rag", {"collections": ["1"]}, ASKED)

    [source] = result.sources
    assert (source.title, source.uri, source.score) == ("dye.md", uri, 0.5)
