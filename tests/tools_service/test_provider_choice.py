"""Which implementation of each provider the settings choose."""

from pathlib import Path
from typing import Any

import pytest
from heddle.knowledge.v1 import knowledge_pb2, knowledge_pb2_grpc
from heddle.tool.v1 import tool_pb2_grpc
from heddle_knowledge.embedders.embedding import MiniLmEmbedder
from heddle_runtime.call_metadata import new_call_options
from heddle_runtime.server import Running, running
from heddle_tools_service.app import ToolsSettings, app
from heddle_tools_service.providers.models.embeddings import RemoteEmbedder
from heddle_tools_service.providers.models.reranking import RemoteReranker
from heddle_tools_service.providers.provider_factory import (
    get_embeddings,
    get_reranker,
    get_vectordb,
    small_model_name,
)
from integration.browser import browser
from knowledge.model_server import DIMENSION, model_site
from pydantic import ValidationError
from tools_service.serving import Client, said, text_of

CLOUD: dict[str, Any] = {
    "embeddings_url": "http://vllm:8000/v1/",
    "embeddings_model": "bge-m3",
    "knowledge_url": "s3://bucket/prefix",
    "small_fast_model": "local/smollm2",
    "small_fast_model_cloud": "openai/gpt-4o-mini",
}
SWITCHES = ("embeddings", "vectordb", "llm")


async def chosen(settings: ToolsSettings) -> dict[str, str]:
    """Return which of the two each provider is."""
    async with browser() as http, get_embeddings(settings, http) as (embedder, *_):
        return {
            "embeddings": "local" if isinstance(embedder, MiniLmEmbedder) else "cloud",
            "vectordb": "local" if isinstance(get_vectordb(settings).place, Path) else "cloud",
            "llm": small_model_name(settings).partition("/")[0].replace("openai", "cloud"),
        }


@pytest.mark.parametrize("place", ["local", "cloud"])
async def test_one_setting_switches_them_all(place: str) -> None:
    settings = ToolsSettings.model_validate({**CLOUD, "providers": place})
    assert await chosen(settings) == dict.fromkeys(SWITCHES, place)


@pytest.mark.parametrize("one", SWITCHES)
async def test_each_can_be_switched_alone(one: str) -> None:
    settings = ToolsSettings.model_validate({**CLOUD, "providers": "local", one: "cloud"})
    assert await chosen(settings) == {**dict.fromkeys(SWITCHES, "local"), one: "cloud"}


async def test_without_the_setting_those_whose_server_is_named_are_the_clouds() -> None:
    assert await chosen(ToolsSettings(small_fast_model="local/x")) == dict.fromkeys(
        SWITCHES, "local"
    )
    assert await chosen(ToolsSettings.model_validate(CLOUD)) == dict.fromkeys(SWITCHES, "cloud")


async def test_a_switch_leaves_nothing_behind() -> None:
    for place in ("cloud", "local", "cloud"):
        settings = ToolsSettings.model_validate({**CLOUD, "providers": place})
        assert set((await chosen(settings)).values()) == {place}


async def test_the_embedding_model_is_asked_for_as_the_settings_say() -> None:
    given = {"embeddings_shape": "jina", "embeddings_dimension": 2048, "embeddings_batch": 7}
    settings = ToolsSettings.model_validate({**CLOUD, **given})
    async with browser() as http, get_embeddings(settings, http) as (embedder, *_):
        assert isinstance(embedder, RemoteEmbedder)
        assert (embedder.shape, embedder.dimension, embedder.batch) == ("jina", 2048, 7)
        assert embedder.server.url == "http://vllm:8000/v1"


async def test_there_is_a_reranking_model_only_if_its_server_is_named() -> None:
    async with browser() as http:
        assert get_reranker(ToolsSettings(), http) is None
        named = ToolsSettings(reranker_url="http://infinity:7997", reranker_model="bge-reranker")
        made = get_reranker(named, http)
    assert isinstance(made, RemoteReranker)
    assert (made.server.url, made.server.model) == ("http://infinity:7997", "bge-reranker")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"providers": "cloud"}, "HEDDLE_TOOLS_EMBEDDINGS_URL"),
        ({"embeddings": "cloud", "embeddings_url": "http://x"}, "HEDDLE_TOOLS_EMBEDDINGS_MODEL"),
        ({"vectordb": "cloud"}, "HEDDLE_TOOLS_KNOWLEDGE_URL"),
        ({"providers": "cloud", "embeddings": "local"}, "HEDDLE_TOOLS_KNOWLEDGE_URL"),
        ({"reranker_url": "http://x"}, "HEDDLE_TOOLS_RERANKER_MODEL"),
        ({"embeddings_url": "http://user:password@x"}, "must hold no credentials"),
        ({"web_search_searxng_url": "ftp://x"}, "must be an http or https address"),
        ({"web_search_keys": {"google": "k"}}, "perplexity"),
    ],
)
def test_what_is_missing_is_named_at_the_start(given: dict[str, Any], named: str) -> None:
    with pytest.raises(ValidationError, match=named):
        ToolsSettings.model_validate(given)


def test_keys_are_not_shown() -> None:
    keys = {"embeddings_key": "k-embed", "reranker_key": "k-rank"}
    settings = ToolsSettings.model_validate({**keys, "web_search_keys": {"tavily": "k-web"}})
    assert "k-" not in repr(settings)


@pytest.mark.parametrize("place", ["local", "cloud"])
async def test_the_same_tools_work_with_either(tmp_path: Path, place: str) -> None:
    async with model_site() as site:
        given = {
            "listen": "127.0.0.1:0",
            "drain_wait": 0,
            "data_dir": tmp_path / "knowledge",
            "assistants_address": "none",
            "providers": place,
            "vectordb": "local",
            "embeddings_url": f"{site.url}/v1",
            "embeddings_key": site.key,
            "embeddings_model": "bge-m3",
            "embeddings_dimension": DIMENSION,
        }
        settings = ToolsSettings.model_validate(given)
        async with running(app(settings), settings) as service:
            await ingest(service)
            client = Client(tool_pb2_grpc.ToolServiceStub(service.local))
            for tool in ("simple_rag", "fast_vector_search", "hybrid_search", "retrieve_documents"):
                _, result = await client.run(
                    tool, {"collections": ["notes"]}, said("What is a shed?"), seconds=30
                )
                assert "the gap between threads" in text_of(result)
    assert bool(site.paths) is (place == "cloud")


async def ingest(service: Running) -> None:
    knowledge = knowledge_pb2_grpc.KnowledgeServiceStub(service.local)  # it stands for a channel
    made = knowledge_pb2.Collection(name="notes")
    await knowledge.CreateCollection(
        knowledge_pb2.CreateCollectionRequest(collection=made), **new_call_options(30)
    )
    request = knowledge_pb2.IngestDocumentRequest(
        collection="notes", name="a.txt", data=b"A shed is the gap between threads."
    )
    assert [_ async for _ in knowledge.IngestDocument(request, **new_call_options(60))]


def test_the_environment_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "PROVIDERS": "local",
        "LLM": "cloud",
        "SMALL_FAST_MODEL": "local/a",
        "SMALL_FAST_MODEL_CLOUD": "openai/b",
        "WEB_SEARCH_KEYS": '{"tavily": "k"}',
        "EMBEDDINGS": "",  # compose passes what nobody set as empty
    }.items():
        monkeypatch.setenv(f"HEDDLE_TOOLS_{name}", value)
    settings = ToolsSettings()
    assert small_model_name(settings) == "openai/b"
    assert settings.place_of("embeddings") == "local"
    assert settings.web_search_keys["tavily"].get_secret_value() == "k"
