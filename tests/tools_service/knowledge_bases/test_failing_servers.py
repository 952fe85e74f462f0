"""What `simple_rag` tells where a collection cannot be searched."""

from typing import Any

import pytest
from heddle_knowledge.collection.access import Owner
from heddle_knowledge.store import KnowledgeStore
from heddle_migration_service.searches.client import KnowledgeServer
from heddle_runtime.errors import ToolFailedError, UnavailableError
from knowledge.kb_server import KnowledgeBaseServer, hit
from tools_service.knowledge_bases.asking import ASKED, TOKEN, serving_with
from tools_service.serving import text_of


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


async def test_without_a_server_an_unknown_collection_is_a_configuration_error(
    store: KnowledgeStore,
) -> None:
    async with serving_with(store) as client:
        with pytest.raises(ToolFailedError) as caught:
            await client.run("simple_rag", {"collections": ["1"]}, ASKED)

    assert caught.value.message == (
        "KB configuration error: there is no collection '1', and no knowledge-base server is "
        "configured"
    )


async def test_a_broken_configuration_is_told_without_what_broke_it(store: KnowledgeStore) -> None:
    async def broken(_: Owner) -> KnowledgeServer | None:
        raise RuntimeError(f"no organisation has the token {TOKEN}")

    async with serving_with(store, server_of=broken) as client:
        with pytest.raises(ToolFailedError) as caught:
            await client.run("simple_rag", {"collections": ["1"]}, ASKED)

    assert caught.value.message == "KB configuration error: it cannot be read"
