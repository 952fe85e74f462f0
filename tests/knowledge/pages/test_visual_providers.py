"""Models that see pages, against a server of their shapes; and which ones the settings choose."""

import io
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from heddle_knowledge.errors import BackendError, BackendUnavailableError, EmbeddingError
from heddle_knowledge.models.interpreters import TextInterpreter, VisionModel
from heddle_knowledge.models.multivectors import RemotePageModel, Shape
from heddle_knowledge.models.server import ModelServer
from heddle_knowledge.pages.models import OcrPageModel
from heddle_knowledge.pages.page_place import open_pages
from heddle_knowledge.pages.ranking import rank
from heddle_knowledge.pages.reader import PageReader
from heddle_knowledge.pages.shapes import DrawnPage
from heddle_knowledge.provider_factory import get_visual_search, get_vlm
from heddle_knowledge.settings import KnowledgeSettings
from integration.browser import browser
from knowledge.pages.visual_server import DIMENSION, KEY, VisualSite, seeing
from PIL import Image
from pydantic import ValidationError

PATHS = {"jina": "/v1", "vllm": ""}
PAGE = DrawnPage(3, text="A shed.", figures=("Fig. 1: 10K",))


@pytest.fixture
async def site() -> AsyncIterator[VisualSite]:
    async with seeing() as running:
        yield running


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with browser() as client:
        yield client


def model(site: VisualSite, http: httpx.AsyncClient, shape: Shape, key: str = KEY) -> Any:
    server = ModelServer(http, site.url + PATHS[shape], key, "eyes-v4", "the server", first_wait=0)
    return RemotePageModel(server, DIMENSION, shape)


def drawn(page: int, shade: int) -> DrawnPage:
    written = io.BytesIO()
    Image.new("RGB", (40, 60), (shade,) * 3).save(written, "WEBP")
    return DrawnPage(page, written.getvalue())


@pytest.mark.parametrize("shape", ["jina", "vllm"])
async def test_pages_are_found_by_what_is_seen_on_them(
    site: VisualSite, http: httpx.AsyncClient, tmp_path: Path, shape: Shape
) -> None:
    eyes = model(site, http, shape)
    pages = [drawn(1, 250), drawn(2, 5), DrawnPage(3)]
    vectors = await eyes.embed_pages(pages)
    asked = await eyes.embed_query("dark dark")

    assert [found.shape for found in vectors] == [(3, DIMENSION), (3, DIMENSION), (0, DIMENSION)]
    assert np.allclose(np.linalg.norm(asked, axis=1), 1)
    async with open_pages("", tmp_path) as place:
        stored = place.of("1")
        await stored.expect("a", "1", 3)
        await stored.add("a", pages, vectors)
        ranking = await rank(stored.search, "dark dark", asked, eyes.info())
    assert [(page.stored.page, page.score) for page in ranking] == [(2, 1.0), (1, 0.0)]
    assert (eyes.info().name, eyes.info().visual) == ("eyes-v4", True)


async def test_jina_is_asked_for_several_vectors(site: VisualSite, http: httpx.AsyncClient) -> None:
    eyes = model(site, http, "jina")
    await eyes.embed_pages([drawn(1, 5)])
    await eyes.embed_query("dark")
    of_page, of_query = site.bodies
    assert of_page["return_multivector"] is of_query["return_multivector"] is True
    assert (of_page["task"], of_query["task"]) == ("retrieval.passage", "retrieval.query")
    assert of_query["input"] == [{"text": "dark"}]
    assert site.paths == ["/v1/embeddings"] * 2


async def test_vllm_is_asked_for_the_vectors_of_tokens(
    site: VisualSite, http: httpx.AsyncClient
) -> None:
    eyes = model(site, http, "vllm")
    await eyes.embed_pages([drawn(1, 5)])
    await eyes.embed_query("dark")
    assert [body["task"] for body in site.bodies] == ["token_embed"] * 2
    seen = site.bodies[0]["messages"][0]["content"][0]["image_url"]["url"]
    assert seen.startswith("data:image/webp;base64,")
    assert site.paths == ["/pooling"] * 2


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({}, "no list of vectors"),
        ({"data": [{"embedding": [1, 0, 0, 0]}]}, "return_multivector"),
        ({"data": [{"embeddings": [["x"]]}]}, "no list of vectors"),
        ({"data": [{"embeddings": [[1, 2]]}]}, "VISUAL_SEARCH_DIMENSION"),
        ({"data": [{"embeddings": []}]}, "return_multivector"),
    ],
)
async def test_nonsense_is_refused(
    site: VisualSite, http: httpx.AsyncClient, answer: Any, told: str
) -> None:
    site.answer = answer
    with pytest.raises(EmbeddingError, match=told):
        await model(site, http, "jina").embed_query("dark")


async def test_a_refused_key_is_told_and_not_repeated(
    site: VisualSite, http: httpx.AsyncClient
) -> None:
    with pytest.raises(EmbeddingError, match="refuses the key") as caught:
        await model(site, http, "jina", "another-key").embed_query("dark")
    assert "another-key" not in str(caught.value)


def vision(site: VisualSite, http: httpx.AsyncClient) -> VisionModel:
    return VisionModel(
        ModelServer(http, f"{site.url}/v1", KEY, "qwen-vl", "the vision model", first_wait=0)
    )


async def test_a_vision_model_is_shown_the_picture(
    site: VisualSite, http: httpx.AsyncClient
) -> None:
    seen = await vision(site, http).interpret("Looms", PAGE, drawn(3, 9).picture, "Which resistor?")
    assert seen.text == "A picture of 40 dots across. Page 3 of 'Looms'. Which resistor?"
    assert (seen.model, seen.visual) == ("qwen-vl", True)
    assert site.paths == ["/v1/chat/completions"]


async def test_a_vision_model_that_fails_or_is_silent_is_told(
    site: VisualSite, http: httpx.AsyncClient
) -> None:
    site.answer = {"choices": [{"message": {"content": ""}}]}
    with pytest.raises(BackendError, match="said nothing"):
        await vision(site, http).interpret("Looms", PAGE, b"", "?")
    site.answer, site.status = {"error": "overloaded"}, 503
    with pytest.raises(BackendUnavailableError):
        await vision(site, http).interpret("Looms", PAGE, b"", "?")


async def test_without_a_vision_model_the_text_is_told_for_what_it_is() -> None:
    seen = await TextInterpreter().interpret("Looms", PAGE, b"", "Which resistor?")
    assert not seen.visual
    assert "No vision model is configured" in seen.text
    assert "A shed." in seen.text
    assert "Fig. 1: 10K" in seen.text


@pytest.mark.parametrize(
    ("given", "page_model", "interpreter"),
    [
        ({}, OcrPageModel, TextInterpreter),
        ({"visual_search_url": "http://v/v1"}, RemotePageModel, TextInterpreter),
        ({"vlm_url": "http://v/v1", "vlm_model": "m"}, OcrPageModel, VisionModel),
        ({"providers": "local", "visual_search_url": "http://v"}, OcrPageModel, TextInterpreter),
    ],
)
async def test_one_setting_chooses_or_each_for_itself(
    http: httpx.AsyncClient, given: Any, page_model: type, interpreter: type
) -> None:
    settings = KnowledgeSettings(**given)
    reader = PageReader()
    chosen = get_visual_search(settings, http, reader)
    assert isinstance(chosen, page_model)
    assert isinstance(get_vlm(settings, http), interpreter)
    await chosen.aclose()
    await reader.aclose()


def test_half_a_setting_is_refused() -> None:
    with pytest.raises(ValidationError, match="HEDDLE_KNOWLEDGE_VLM_MODEL"):
        KnowledgeSettings(vlm_url="http://v")
