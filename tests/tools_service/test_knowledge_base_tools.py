"""`simple_rag` and its relatives, against a knowledge-base server and the embedded store."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors import (
    HeddleError,
    InvalidRequestError,
    ToolFailedError,
    UnavailableError,
)
from heddle_tools_service.knowledge.names import document_id
from heddle_tools_service.knowledge.store import KnowledgeStore, open_store
from heddle_tools_service.knowledge.testing import HashingEmbedder
from heddle_tools_service.providers.kb_server import KnowledgeServer
from heddle_tools_service.providers.knowledge_bases import KnowledgeBases, ServerOf
from heddle_tools_service.registry import Registry
from heddle_tools_service.sdk import Assistant, ToolUnavailableError
from heddle_tools_service.surroundings import Generate
from integration.browser import browser
from structlog.testing import capture_logs
from tools_service.kb_server import KnowledgeBaseServer, hit, kb_server
from tools_service.opening import opening
from tools_service.serving import Client, invocation, no_server, said, serving, text_of

TOKEN = "kb-token-that-must-not-leak"
ASKED = said("What is a shed?")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[KnowledgeStore]:
    async with open_store(tmp_path / "store", HashingEmbedder()) as opened:
        yield opened


@pytest.fixture
async def server() -> AsyncGenerator[KnowledgeBaseServer]:
    async with kb_server() as running:
        yield running


@asynccontextmanager
async def serving_with(
    store: KnowledgeStore,
    server: KnowledgeBaseServer | None = None,
    *,
    server_of: ServerOf | None = None,
    small_model: Generate | None = None,
) -> AsyncGenerator[Client]:
    async def known(_: Assistant) -> KnowledgeServer | None:
        return KnowledgeServer(server.url, TOKEN) if server else await no_server(_)

    async with browser() as http:
        bases = KnowledgeBases(opening(store), server_of or known, http, http, 1.0)
        async with serving(
            Registry.discover(None), knowledge=bases, small_model=small_model
        ) as client:
            yield client


async def test_chunks_of_all_collections_are_joined_in_order(
    store: KnowledgeStore, server: KnowledgeBaseServer
) -> None:
    server.answers = {
        "1": {"results": [hit("a", 0.9, filename="a.md", file_url="/static/a.md"), hit("b", 0.1)]},
        "2": {"documents": [hit("c", 0.3), hit("d", -0.2)]},  # as older servers call it
    }
    config = {"collections": ["1", "2"], "top_k": 5, "threshold": 0.25}
    async with serving_with(store, server) as client:
        statuses, result = await client.run("simple_rag", config, ASKED)

    assert statuses == ["querying knowledge base 1", "querying knowledge base 2"]
    assert text_of(result) == "a\n\nb\n\nc\n\nd"
    assert dict(result.metadata) == {"collections_queried": 2, "documents_retrieved": 4}
    assert [source.title for source in result.sources] == ["a.md", *["Unknown"] * 3]
    assert result.sources[0].uri == f"{server.url}/static/a.md"
    assert [source.score for source in result.sources] == [0.9, 0.1, 0.3, -0.2]
    assert sorted(server.paths) == ["/collections/1/query", "/collections/2/query"]
    assert {headers["Authorization"] for headers in server.headers} == {f"Bearer {TOKEN}"}
    assert (
        server.bodies
        == [{"query_text": "What is a shed?", "top_k": 5, "threshold": 0.25, "plugin_params": {}}]
        * 2
    )


async def test_collections_are_asked_at_once(
    store: KnowledgeStore, server: KnowledgeBaseServer
) -> None:
    server.delay = 0.1
    server.answers = {str(number): {"results": []} for number in range(4)}
    async with serving_with(store, server) as client:
        await client.run("simple_rag", {"collections": list(server.answers)}, ASKED)

    assert server.most_at_once == 4


@pytest.mark.parametrize(
    ("config", "words", "kind", "message"),
    [
        ({"collections": []}, "q", ToolFailedError, "No collections configured"),
        ({"collections": [""]}, "q", ToolFailedError, "No collections configured"),
        ({}, "q", InvalidRequestError, "No collections configured"),
        ({"collections": ["1"]}, "", ToolFailedError, "No user message found for query"),
    ],
)
@pytest.mark.parametrize("name", ["simple_rag", "context_aware_rag", "hierarchical_rag"])
async def test_without_collections_or_question_nobody_is_asked(
    store: KnowledgeStore,
    server: KnowledgeBaseServer,
    name: str,
    config: dict[str, Any],
    words: str,
    kind: type[HeddleError],
    message: str,
) -> None:
    async with serving_with(store, server) as client:
        with pytest.raises(HeddleError) as caught:
            await client.run(name, config, said(words))

    assert type(caught.value) is kind
    assert caught.value.message == message
    assert server.paths == []


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (500, "the knowledge-base server answered 500"),
        (404, "the knowledge-base server has no such collection (404)"),
        (422, "the knowledge-base server refuses the query (422)"),
        (b"<html>", "the knowledge-base server's answer cannot be read"),
        (b"[" * 100_000, "the knowledge-base server's answer cannot be read"),
        (b" " * 9_000_000, "the knowledge-base server answered with more than 8 MiB"),
    ],
)
async def test_a_failing_collection_is_told_and_the_others_count(
    store: KnowledgeStore, server: KnowledgeBaseServer, answer: Any, told: str
) -> None:
    server.answers = {"bad": answer, "good": {"results": [hit("found")]}}
    async with serving_with(store, server) as client:
        _, result = await client.run("simple_rag", {"collections": ["bad", "good"]}, ASKED)

    assert text_of(result) == "found"
    assert list(result.warnings) == [f"Collection 'bad' was not searched: {told}."]
    assert TOKEN not in str(result)


async def test_a_refused_token_is_a_configuration_error(
    store: KnowledgeStore, server: KnowledgeBaseServer
) -> None:
    server.answers = {"1": 401}
    async with serving_with(store, server) as client:
        with pytest.raises(ToolFailedError) as caught:
            await client.run("simple_rag", {"collections": ["1"]}, ASKED)

    assert caught.value.message == (
        "KB configuration error: the knowledge-base server refuses the token (401)"
    )


async def test_when_all_collections_fail_the_tool_does(
    store: KnowledgeStore, server: KnowledgeBaseServer
) -> None:
    server.answers = {"1": 503, "2": 404}
    async with serving_with(store, server) as client:
        with pytest.raises(UnavailableError, match="Collection '1' was not searched"):
            await client.run("simple_rag", {"collections": ["1", "2"]}, ASKED)


async def test_a_slow_server_is_told_and_the_others_count(
    store: KnowledgeStore, server: KnowledgeBaseServer
) -> None:
    await store.collections.create("here")
    async for _ in store.documents.ingest("here", "a.txt", b"A shed is the gap between threads."):
        pass
    server.delay = 3
    async with serving_with(store, server) as client:
        _, result = await client.run("simple_rag", {"collections": ["there", "here"]}, ASKED)

    assert "gap between threads" in text_of(result)
    assert list(result.warnings) == ["Collection 'there' was not searched: it took too long."]


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
        with pytest.raises(ToolFailedError, match="its identifier cannot be one"):
            await client.run("simple_rag", {"collections": [collection]}, ASKED)

    assert server.paths == []


async def test_the_token_does_not_follow_a_redirect(
    store: KnowledgeStore, server: KnowledgeBaseServer
) -> None:
    async with kb_server() as other, serving_with(store, server) as client:
        server.answers = {"1": f"{other.url}/collections/1/query"}
        with pytest.raises(ToolFailedError, match=r"KB configuration error: .* redirects \(307\)"):
            await client.run("simple_rag", {"collections": ["1"]}, ASKED)
        assert other.paths == []


async def test_without_a_server_an_unknown_collection_is_a_configuration_error(
    store: KnowledgeStore,
) -> None:
    async with serving_with(store) as client:
        with pytest.raises(ToolFailedError) as caught:
            await client.run("simple_rag", {"collections": ["1"]}, ASKED)

    assert caught.value.message == (
        "KB configuration error: there is no collection '1', and no knowledge-base server is "
        "configured, neither in the organisation's settings (knowledge_base) nor for all "
        "(HEDDLE_TOOLS_KB_URL)"
    )


async def test_a_broken_configuration_is_told_without_what_broke_it(store: KnowledgeStore) -> None:
    async def broken(_: Assistant) -> KnowledgeServer | None:
        raise RuntimeError(f"no organisation has the token {TOKEN}")

    async with serving_with(store, server_of=broken) as client:
        with pytest.raises(ToolFailedError) as caught:
            await client.run("simple_rag", {"collections": ["1"]}, ASKED)

    assert caught.value.message == "KB configuration error: it cannot be read"


async def test_neither_logs_nor_errors_repeat_question_owner_or_token(
    store: KnowledgeStore, server: KnowledgeBaseServer
) -> None:
    async def broken(_: Assistant) -> KnowledgeServer | None:
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


async def test_a_registered_collection_names_its_backend(
    store: KnowledgeStore, server: KnowledgeBaseServer
) -> None:
    await store.collections.create("weaving")
    async for _ in store.documents.ingest(
        "weaving", "shed.md", b"# Sheds\n\nA shed is a gap.", uri="http://w/"
    ):
        pass
    await store.collections.create("course", backend="lamb-kb", settings={"collection_id": "42"})
    server.answers = {"42": {"results": [hit("from the server")]}}
    async with serving_with(store, server) as client:
        _, result = await client.run("simple_rag", {"collections": ["weaving", "course"]}, ASKED)

    assert text_of(result) == "A shed is a gap.\n\nfrom the server"
    assert server.paths == ["/collections/42/query"]
    source = result.sources[0]
    assert (source.title, source.uri, source.kind) == ("Sheds", "http://w/", "passage")
    assert source.attributes["collection"] == "weaving"
    assert source.attributes["document"] == "shed.md"
    assert source.HasField("score")


async def test_hierarchical_rag_asks_for_sections_and_brings_each_once(
    store: KnowledgeStore, server: KnowledgeBaseServer
) -> None:
    section = "the whole section"
    server.answers = {
        "1": {
            "results": [
                hit("one", parent_text=section),
                hit("two", parent_text=section),
                hit("three"),
            ]
        }
    }
    async with serving_with(store, server) as client:
        _, result = await client.run("hierarchical_rag", {"collections": ["1"]}, ASKED)

    assert server.paths == ["/collections/1/query?plugin_name=parent_child_query"]
    assert text_of(result) == "the whole section\n\nthree"
    assert len(result.sources) == 3


@pytest.mark.parametrize("name", ["context_aware_rag", "hierarchical_rag"])
async def test_the_question_is_rewritten_by_the_small_model(
    store: KnowledgeStore, server: KnowledgeBaseServer, name: str
) -> None:
    prompts: list[str] = []

    async def model(prompt: str, /, **_: float) -> str:
        prompts.append(prompt)
        return '\n "how wide is a shed" \nbecause it was asked'

    server.answers = {"1": {"results": [hit("found")]}}
    turns = [f"turn {number} {{x}}" for number in range(12)]
    async with serving_with(store, server, small_model=model) as client:
        _, result = await client.run(name, {"collections": ["1"]}, said(*turns, "how wide is it?"))

    assert server.bodies[0]["query_text"] == "how wide is a shed"
    assert result.metadata["query_rewritten"] is True
    [prompt] = prompts
    assert "turn 2" not in prompt
    assert "turn 3 {x}" in prompt
    assert "user: how wide is it?" in prompt


async def test_without_an_answer_of_the_small_model_the_last_message_is_searched(
    store: KnowledgeStore, server: KnowledgeBaseServer
) -> None:
    async def model(_: str, /, **__: float) -> str:
        raise ToolUnavailableError("asleep")

    server.answers = {"1": {"results": [hit("found")]}}
    async with serving_with(store, server, small_model=model) as client:
        _, result = await client.run("context_aware_rag", {"collections": ["1"]}, ASKED)

    assert server.bodies[0]["query_text"] == "What is a shed?"
    assert result.metadata["query_rewritten"] is False


async def cited(client: Client, **arguments: Any) -> tuple[dict[str, Any], list[str]]:
    """Return what a model reads of `retrieve_documents`, and the warnings."""
    wanted = json.dumps({"query": "What is a shed?", **arguments})
    call = pb.FunctionCall(name="retrieve_documents", arguments_json=wanted)
    asked = invocation("1", "retrieve_documents", {"collections": ["notes"]})
    asked.function_call.CopyFrom(call)
    *_, [*_, last] = await client.run_all([asked])
    assert last.HasField("result"), last
    found: dict[str, Any] = json.loads(text_of(last.result))
    return found, list(last.result.warnings)


async def test_passages_of_the_store_can_be_cited_by_their_identifiers(
    store: KnowledgeStore,
) -> None:
    made = await store.collections.create("notes")
    async for _ in store.documents.ingest(made.id, "shed.md", b"# Sheds\n\nA shed is a gap."):
        pass
    async with serving_with(store) as client:
        found, warnings = await cited(client, recency_weight=0.5, date_from="2020-01-01")

    [source] = found["citation_sources"]
    identifier = document_id(made.id, "shed.md")
    assert source["document_id"] == identifier
    assert (source["chunk_id"], source["chunk_index"]) == (f"{identifier}:0", 0)
    assert (source["doc_title"], source["content_preview"]) == ("Sheds", "A shed is a gap.")
    assert warnings == []


async def test_documents_of_another_time_are_not_retrieved(store: KnowledgeStore) -> None:
    made = await store.collections.create("notes")
    async for _ in store.documents.ingest(made.id, "shed.md", b"A shed is a gap."):
        pass
    async with serving_with(store) as client:
        for wish in ({"date_to": "2020-01-01"}, {"date_from": "2120-01-01"}):
            found, _ = await cited(client, **wish)
            assert found == {"formatted_text": "", "citation_sources": []}


async def test_what_a_knowledge_base_server_does_not_heed_is_told(
    store: KnowledgeStore, server: KnowledgeBaseServer
) -> None:
    server.answers = {
        "notes": {"results": [hit("A gap.", 0.0, filename="a.md", chunk_index=4, page="2")]}
    }
    async with serving_with(store, server) as client:
        plain, none = await cited(client)
        _, warnings = await cited(client, date_to="2024-01-01", recency_weight=0.5)

    assert none == []
    [warning] = warnings
    assert warning == (
        "Collection 'notes' is at a LAMB knowledge-base server, which does not heed time_to, "
        "recency_weight."
    )
    [source] = plain["citation_sources"]
    assert (source["chunk_id"], source["chunk_index"], source["score"]) == ("a.md:4", 4, 0.0)
    assert plain["formatted_text"] == "[1] a.md, page 2\nA gap."
