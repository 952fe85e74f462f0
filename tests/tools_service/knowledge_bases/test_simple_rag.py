"""`simple_rag` and its relatives, against a knowledge-base server and the embedded store."""

from typing import Any

import pytest
from heddle.chat.v1 import chat_pb2
from heddle_knowledge.store import KnowledgeStore
from heddle_runtime.errors import HeddleError, InvalidRequestError, ToolFailedError
from heddle_tools_service.sdk import ToolUnavailableError
from knowledge.kb_server import KnowledgeBaseServer, hit
from tools_service.knowledge_bases.asking import ASKED, TOKEN, serving_with
from tools_service.serving import said, text_of


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


async def test_the_small_model_reads_questions_without_the_file_that_open_webui_attaches(
    store: KnowledgeStore, server: KnowledgeBaseServer
) -> None:
    prompts: list[str] = []

    async def model(prompt: str, /, **_: float) -> str:
        prompts.append(prompt)
        return "how wide is a shed"

    server.answers = {"1": {"results": [hit("found")]}}
    file = f'<context>\n<source id="1">{"a long file " * 200}</source>\n</context>\n\n'
    conversation = said(f"{file}What is a shed?", "A gap.", f"{file}How wide is it?")
    conversation.messages.add(role=chat_pb2.ROLE_SYSTEM).parts.add(text="Be brief.")
    async with serving_with(store, server, small_model=model) as client:
        await client.run("context_aware_rag", {"collections": ["1"]}, conversation)

    [prompt] = prompts
    assert "user: What is a shed?\nassistant: A gap.\nuser: How wide is it?\n\nSearch" in prompt


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


async def test_without_a_small_model_the_last_message_is_searched(
    store: KnowledgeStore, server: KnowledgeBaseServer
) -> None:
    server.answers = {"1": {"results": [hit("found")]}}
    conversation = said("What is a loom?", "A frame.", "And a shed?")
    async with serving_with(store, server) as client:
        _, result = await client.run("context_aware_rag", {"collections": ["1"]}, conversation)

    assert [body["query_text"] for body in server.bodies] == ["And a shed?"]
    assert result.metadata["query_rewritten"] is False
