"""Embeddings and reranking by models behind HTTP servers."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from heddle_knowledge.embedders.embedding import MINILM, Vectors
from heddle_knowledge.embedders.tracing import traced_embedding
from heddle_knowledge.errors import EmbedderMismatchError, EmbeddingError
from heddle_knowledge.models.embeddings import RemoteEmbedder
from heddle_knowledge.models.reranking import RemoteReranker
from heddle_knowledge.models.server import ModelServer
from heddle_knowledge.provider_factory import get_embeddings
from heddle_knowledge.settings import KnowledgeSettings
from heddle_knowledge.store import open_store
from heddle_runtime.identity.call_metadata import CALLER, Caller
from integration.browser import browser
from knowledge.model_server import DIMENSION, ModelSite, fit, model_site, vector
from opentelemetry.trace import SpanKind
from recorded_spans import DRAWN, recorded


@pytest.fixture
async def site() -> AsyncIterator[ModelSite]:
    async with model_site() as made:
        yield made


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with browser() as client:
        yield client


def server(site: ModelSite, http: httpx.AsyncClient, **more: Any) -> ModelServer:
    given = {"seconds": 5.0, "first_wait": 0.01, **more}
    return ModelServer(http, f"{site.url}/v1", site.key, "bge-m3", "the models' server", **given)


@pytest.fixture
def embedder(site: ModelSite, http: httpx.AsyncClient) -> RemoteEmbedder:
    return RemoteEmbedder(server(site, http), DIMENSION, 512)


def unit(texts: Sequence[str]) -> Vectors:
    made = np.array([vector(text) for text in texts], dtype=np.float32)
    scaled: Vectors = made / np.linalg.norm(made, axis=1, keepdims=True)
    return scaled


async def test_the_span_of_an_embedding_names_the_model_and_counts_its_tokens(
    embedder: RemoteEmbedder,
) -> None:
    CALLER.set(Caller("req_1", traceparent=DRAWN))
    with recorded() as spans:
        await traced_embedding(embedder.embed(["one"] * 40, "passage"), embedder)
    span = spans.of("embeddings bge-m3")
    assert span.kind is SpanKind.CLIENT
    assert span.attributes == {
        "gen_ai.operation.name": "embeddings",
        "gen_ai.request.model": "bge-m3",
        "gen_ai.embeddings.dimension.count": DIMENSION,
        "gen_ai.usage.input_tokens": 10,
    }


async def test_vectors_come_in_the_order_of_the_texts_and_have_length_one(
    embedder: RemoteEmbedder, site: ModelSite
) -> None:
    texts = ["one", "two", "three"]

    vectors = await embedder.embed(texts, "passage")

    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, unit(texts), rtol=1e-5)
    assert site.paths == ["/v1/embeddings"]
    assert site.bodies == [{"model": "bge-m3", "input": texts, "encoding_format": "float"}]
    assert site.headers[0]["Authorization"] == f"Bearer {site.key}"


async def test_many_texts_go_in_batches(site: ModelSite, http: httpx.AsyncClient) -> None:
    texts = [f"text {number}" for number in range(7)]

    vectors = await RemoteEmbedder(server(site, http), DIMENSION, 512, batch=3).embed(
        texts, "passage"
    )

    np.testing.assert_allclose(vectors, unit(texts), rtol=1e-5)
    assert [len(body["input"]) for body in site.bodies] == [3, 3, 1]


async def test_no_texts_are_no_request(embedder: RemoteEmbedder, site: ModelSite) -> None:
    assert (await embedder.embed([], "query")).shape == (0, DIMENSION)
    assert not site.bodies


async def test_questions_are_told_from_passages_by_a_prefix_or_a_task(
    site: ModelSite, http: httpx.AsyncClient
) -> None:
    prefixed = RemoteEmbedder(server(site, http), DIMENSION, 512, "openai", "query: ", "passage: ")
    jina = RemoteEmbedder(server(site, http), DIMENSION, 512, "jina")
    for embedder in (prefixed, jina):
        await embedder.embed(["x"], "query")
        await embedder.embed(["x"], "passage")

    assert [(body["input"][0], body.get("task")) for body in site.bodies] == [
        ("query: x", None),
        ("passage: x", None),
        ("x", "retrieval.query"),
        ("x", "retrieval.passage"),
    ]
    assert prefixed.info().revision != jina.info().revision


async def test_a_text_longer_than_the_model_reads_is_cut(
    site: ModelSite, http: httpx.AsyncClient
) -> None:
    await RemoteEmbedder(server(site, http), DIMENSION, 16).embed(["word " * 1_000], "query")
    assert len(site.bodies[0]["input"][0]) == 64


@pytest.mark.parametrize("status", [429, 500, 502, 503])
async def test_what_may_pass_is_tried_again(
    embedder: RemoteEmbedder, site: ModelSite, status: int
) -> None:
    site.failures = [(status, {}), (status, {"Retry-After": "0"})]

    vectors = await embedder.embed(["x"], "query")

    np.testing.assert_allclose(vectors, unit(["x"]), rtol=1e-5)
    assert len(site.bodies) == 3


async def test_a_server_that_stays_busy_is_given_up(
    embedder: RemoteEmbedder, site: ModelSite
) -> None:
    site.failures = [(429, {"Retry-After": "0"})] * 9
    with pytest.raises(EmbeddingError, match=r"answered 429: .* It was asked 4 times\."):
        await embedder.embed(["x"], "query")
    assert len(site.bodies) == 4


async def test_a_slow_server_is_given_up(site: ModelSite, http: httpx.AsyncClient) -> None:
    site.delay = 5
    embedder = RemoteEmbedder(server(site, http, seconds=0.1, attempts=2), DIMENSION, 512)
    with pytest.raises(EmbeddingError, match=r"did not answer in time\. It was asked 2 times\."):
        await embedder.embed(["x"], "query")


@pytest.mark.parametrize(
    ("status", "told"),
    [(401, r"refuses the key \(401\)"), (400, r"refuses the request \(400\): no \[redacted\]\.")],
)
async def test_a_refusal_is_final_and_tells_no_key(
    embedder: RemoteEmbedder, site: ModelSite, status: int, told: str
) -> None:
    site.failures = [(status, {})]
    with pytest.raises(EmbeddingError, match=told) as caught:
        await embedder.embed(["x"], "query")
    assert len(site.bodies) == 1
    assert site.key not in f"{caught.value!r} {embedder!r}"


async def test_a_key_does_not_follow_a_redirect(embedder: RemoteEmbedder, site: ModelSite) -> None:
    async with model_site() as thief:
        site.failures = [(307, {"Location": f"{thief.url}/v1/embeddings"})]
        with pytest.raises(EmbeddingError, match="redirects"):
            await embedder.embed(["x"], "query")
        assert not thief.bodies


def data(*vectors: object, **more: object) -> bytes:
    return json.dumps(
        {"data": [{"index": i, "embedding": v, **more} for i, v in enumerate(vectors)]}
    ).encode()


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (b"<html>", "it is no JSON"),
        (b"[]", "it must hold 1 vectors"),
        (b'{"data": []}', "it must hold 1 vectors"),
        (data([1.0] * DIMENSION, [1.0] * DIMENSION), "it must hold 1 vectors"),
        (data(["a"] * DIMENSION), "not all of it is vectors of numbers"),
        (data("AAAA"), "not all of it is vectors of numbers"),
        (b'{"data": [5]}', "not all of it is vectors of numbers"),
        (data([1.0] * DIMENSION, index=7), "not numbered from 0"),
        (data([0.0] * DIMENSION), "zero or not finite"),
        (data([float("nan")] * DIMENSION), "zero or not finite"),
        (data([1.0] * 5), "makes vectors of 5 numbers, not 8. Set HEDDLE_KNOWLEDGE_EMBEDDINGS_DIM"),
    ],
)
async def test_vectors_that_are_none_are_refused(
    embedder: RemoteEmbedder, site: ModelSite, answer: bytes, told: str
) -> None:
    site.answer = answer
    with pytest.raises(EmbeddingError, match=told):
        await embedder.embed(["x"], "query")


async def test_a_collection_is_filled_and_searched_by_a_remote_model(
    embedder: RemoteEmbedder, site: ModelSite, http: httpx.AsyncClient, tmp_path: Path
) -> None:
    async with open_store(tmp_path, embedder) as store:
        made = await store.collections.create("looms")
        async for _ in store.documents.ingest(
            made.id, "a.txt", b"A shed is the gap between threads."
        ):
            pass
        [found] = await store.passages.search(
            made.id, "A shed is the gap between threads.", top_k=1
        )
    assert found.score == pytest.approx(1.0, abs=1e-4)
    assert (made.model, made.dim) == ("bge-m3", DIMENSION)

    other = RemoteEmbedder(server(site, http), DIMENSION, 512, "jina")
    async with open_store(tmp_path, other) as store:
        with pytest.raises(EmbedderMismatchError):
            await store.passages.search(made.id, "x", top_k=1)


async def test_collections_of_earlier_models_are_searched_with_their_own(
    site: ModelSite, http: httpx.AsyncClient, tmp_path: Path
) -> None:
    settings = {
        "embeddings_url": f"{site.url}/v1",
        "embeddings_key": site.key,
        "embeddings_dimension": DIMENSION,
    }

    def servers(models: Mapping[str, int]) -> dict[str, dict[str, object]]:
        server = {"url": settings["embeddings_url"], "key": site.key}
        return {name: {**server, "dimension": models[name]} for name in models}

    async def search(model: str, earlier: Mapping[str, int]) -> list[str]:
        """Search under these settings; return the models that the server was asked for."""
        configured = KnowledgeSettings.model_validate(
            {**settings, "embeddings_model": model, "embeddings_servers": servers(earlier)}
        )
        site.bodies.clear()
        async with (
            get_embeddings(configured, http) as (first, *others),
            open_store(tmp_path, first, others=others) as store,
        ):
            if model == "bge-m3":
                await store.collections.create("looms")
                async for _ in store.documents.ingest("looms", "a.txt", b"A shed is a gap."):
                    pass
            await store.passages.search("looms", "shed", top_k=1)
        return [body["model"] for body in site.bodies]

    assert set(await search("bge-m3", {})) == {"bge-m3"}
    assert await search("nomic-embed", {"bge-m3": DIMENSION}) == ["bge-m3"]
    with pytest.raises(EmbedderMismatchError, match="bge-m3"):
        await search("nomic-embed", {})


async def test_each_collection_can_have_the_model_of_another_server(
    site: ModelSite, http: httpx.AsyncClient, tmp_path: Path
) -> None:
    async with model_site(key="another key") as other:
        settings = KnowledgeSettings.model_validate(
            {
                "embeddings_servers": {
                    "bge-m3": {"url": f"{site.url}/v1", "key": site.key, "dimension": DIMENSION},
                    "e5": {
                        "url": f"{other.url}/v1",
                        "key": other.key,
                        "dimension": DIMENSION,
                        "query_prefix": "query: ",
                    },
                }
            }
        )
        async with (
            get_embeddings(settings, http) as (first, *others),
            open_store(tmp_path, first, others=others) as store,
        ):
            assert first.info().model == MINILM  # the default stays
            for model in ("bge-m3", "e5"):
                await store.collections.create(model, embedding_model=model)
                async for _ in store.documents.ingest(model, "a.txt", b"A shed is a gap."):
                    pass
                await store.passages.search(model, "shed", top_k=1)
    for place, model, question in ((site, "bge-m3", "shed"), (other, "e5", "query: shed")):
        assert {body["model"] for body in place.bodies} == {model}
        assert place.bodies[-1]["input"] == [question]


async def test_texts_are_scored_in_their_order(site: ModelSite, http: httpx.AsyncClient) -> None:
    texts = ["nothing", "a wide shed", "a shed"]

    scores = await RemoteReranker(server(site, http)).rerank("wide shed", texts)

    assert scores.tolist() == [fit("wide shed", text) for text in texts] == [0.0, 1.0, 0.5]
    assert site.paths == ["/v1/rerank"]
    assert site.bodies == [
        {"model": "bge-m3", "query": "wide shed", "documents": texts, "top_n": 3}
    ]


async def test_no_texts_are_scored_without_a_request(
    site: ModelSite, http: httpx.AsyncClient
) -> None:
    assert (await RemoteReranker(server(site, http)).rerank("q", [])).shape == (0,)
    assert not site.bodies


@pytest.mark.parametrize(
    "results",
    [
        None,
        5,
        [],
        [{"index": 0, "relevance_score": 1}],
        [{"index": 0, "relevance_score": 1}, {"index": 5, "relevance_score": 1}],
        [{"index": 0, "relevance_score": 1}, {"index": 1, "relevance_score": "x"}, 5],
    ],
)
async def test_scores_that_are_missing_are_refused(
    site: ModelSite, http: httpx.AsyncClient, results: object
) -> None:
    site.answer = json.dumps({"results": results}).encode()
    with pytest.raises(EmbeddingError, match="it must score each of 2 texts"):
        await RemoteReranker(server(site, http)).rerank("q", ["a", "b"])
