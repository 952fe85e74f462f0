"""Which implementation of each provider the settings choose."""

from pathlib import Path
from typing import Any

import pytest
from heddle.knowledge.v1 import knowledge_pb2
from heddle_knowledge.embedders.local_embedders import LocalEmbedder
from heddle_knowledge.models.embeddings import RemoteEmbedder
from heddle_knowledge.models.interpreters import TextInterpreter
from heddle_knowledge.models.reranking import RemoteReranker
from heddle_knowledge.pages.models import OcrPageModel
from heddle_knowledge.pages.reader import PageReader
from heddle_knowledge.provider_factory import (
    get_embeddings,
    get_reranker,
    get_vectordb,
    get_visual_search,
    get_vlm,
)
from heddle_knowledge.settings import KnowledgeSettings
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_tools_service.app import ToolsSettings
from integration.browser import browser
from knowledge.model_server import DIMENSION, model_site
from pydantic import ValidationError
from tools_service.services import services
from tools_service.serving import said, text_of

CLOUD: dict[str, Any] = {
    "embeddings_url": "http://vllm:8000/v1/",
    "embeddings_model": "bge-m3",
    "store_url": "s3://bucket/prefix",
    "reranker_url": "http://infinity:7997",
    "reranker_model": "bge-reranker",
    "visual_search_url": "http://vllm:8001",
    "vlm_url": "http://vllm:8002/v1",
    "vlm_model": "qwen3-vl",
    "small_fast_model": "local/smollm2",
    "small_fast_model_cloud": "openai/gpt-4o-mini",
}
SWITCHES = ("embeddings", "vectordb", "llm", "reranker", "visual_search", "vlm")


async def chosen(settings: dict[str, Any]) -> dict[str, str]:
    """Return which of the two each provider is, with the settings of both services."""
    knowledge = KnowledgeSettings.model_validate(settings)
    small_model = ToolsSettings.model_validate(settings).small_model
    async with browser() as http, get_embeddings(knowledge, http) as (embedder, *_):
        pages = get_visual_search(knowledge, http, PageReader())
        return {
            "embeddings": "local" if isinstance(embedder, LocalEmbedder) else "cloud",
            "vectordb": "local" if isinstance(get_vectordb(knowledge).place, Path) else "cloud",
            "reranker": "cloud" if get_reranker(knowledge, http) else "local",
            "visual_search": "local" if isinstance(pages, OcrPageModel) else "cloud",
            "vlm": "local" if isinstance(get_vlm(knowledge, http), TextInterpreter) else "cloud",
            "llm": small_model.partition("/")[0].replace("openai", "cloud"),
        }


@pytest.mark.parametrize("place", ["local", "cloud"])
async def test_one_setting_switches_them_all(place: str) -> None:
    settings = {**CLOUD, "providers": place}
    assert await chosen(settings) == dict.fromkeys(SWITCHES, place)


async def test_the_small_model_can_be_switched_alone() -> None:
    settings = {**CLOUD, "providers": "local", "llm": "cloud"}
    assert await chosen(settings) == {**dict.fromkeys(SWITCHES, "local"), "llm": "cloud"}


async def test_without_the_setting_those_whose_server_is_named_are_the_clouds() -> None:
    assert await chosen({"small_fast_model": "local/x"}) == dict.fromkeys(SWITCHES, "local")
    assert await chosen(CLOUD) == dict.fromkeys(SWITCHES, "cloud")


async def test_a_switch_leaves_nothing_behind() -> None:
    for place in ("cloud", "local", "cloud"):
        settings = {**CLOUD, "providers": place}
        assert set((await chosen(settings)).values()) == {place}


async def test_the_embedding_model_is_asked_for_as_the_settings_say() -> None:
    given = {"embeddings_api": "jina", "embeddings_dimension": 2048}
    settings = KnowledgeSettings.model_validate({**CLOUD, **given})
    async with browser() as http, get_embeddings(settings, http) as (embedder, *_):
        assert isinstance(embedder, RemoteEmbedder)
        assert (embedder.shape, embedder.dimension) == ("jina", 2048)
        assert embedder.server.url == "http://vllm:8000/v1"


async def test_there_is_a_reranking_model_only_if_its_server_is_named() -> None:
    async with browser() as http:
        assert get_reranker(KnowledgeSettings(), http) is None
        named = KnowledgeSettings(
            reranker_url="http://infinity:7997", reranker_model="bge-reranker"
        )
        made = get_reranker(named, http)
    assert isinstance(made, RemoteReranker)
    assert (made.server.url, made.server.model) == ("http://infinity:7997", "bge-reranker")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"providers": "cloud"}, "HEDDLE_KNOWLEDGE_EMBEDDINGS_URL"),
        ({"embeddings_url": "http://x"}, "HEDDLE_KNOWLEDGE_EMBEDDINGS_MODEL"),
        ({"reranker_url": "http://x"}, "HEDDLE_KNOWLEDGE_RERANKER_MODEL"),
        ({"embeddings_url": "http://user:password@x"}, "must hold no credentials"),
        ({"web_search_searxng_url": "ftp://x"}, "must be an http or https address"),
        ({"web_search_keys": {"google": "k"}}, "perplexity"),
    ],
)
def test_what_is_missing_is_named_at_the_start(given: dict[str, Any], named: str) -> None:
    kind = ToolsSettings if any(name.startswith("web_") for name in given) else KnowledgeSettings
    with pytest.raises(ValidationError, match=named):
        kind.model_validate(given)


def test_keys_are_not_shown() -> None:
    keys = {"embeddings_key": "k-embed", "reranker_key": "k-rank"}
    assert "k-" not in repr(KnowledgeSettings.model_validate(keys))
    assert "k-" not in repr(ToolsSettings.model_validate({"web_search_keys": {"tavily": "k-web"}}))


@pytest.mark.parametrize("place", ["local", "cloud"])
async def test_the_same_tools_work_with_either(tmp_path: Path, place: str) -> None:
    async with model_site() as site:
        given = {
            "assistants_address": "none",
            **({"providers": "local"} if place == "local" else {}),
            "embeddings_url": f"{site.url}/v1",
            "embeddings_key": site.key,
            "embeddings_model": "bge-m3",
            "embeddings_dimension": DIMENSION,
        }
        async with services(tmp_path, **given) as both:
            await ingest(both.knowledge_stub)
            for tool in ("simple_rag", "fast_vector_search", "hybrid_search", "retrieve_documents"):
                _, result = await both.client.run(
                    tool, {"collections": ["notes"]}, said("What is a shed?"), seconds=30
                )
                assert "the gap between threads" in text_of(result)
    assert bool(site.paths) is (place == "cloud")


async def ingest(knowledge: Any) -> None:
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
        "TOOLS_LLM": "cloud",
        "TOOLS_SMALL_FAST_MODEL": "local/a",
        "TOOLS_SMALL_FAST_MODEL_CLOUD": "openai/b",
        "TOOLS_WEB_SEARCH_KEYS": '{"tavily": "k"}',
        "KNOWLEDGE_EMBEDDINGS_URL": "",  # compose passes what nobody set as empty
    }.items():
        monkeypatch.setenv(f"HEDDLE_{name}", value)
    settings = ToolsSettings()
    assert settings.small_model == "openai/b"
    assert settings.providers == "local"
    assert not KnowledgeSettings().remote("http://vllm:8000")
    assert settings.web_search_keys["tavily"].get_secret_value() == "k"
