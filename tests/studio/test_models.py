"""Connect a model: in Chromium, with an OpenAI-compatible server on loopback."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from studio.harness import LANGUAGES, VIEWS, Screen, Studio, running

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
KEY = "sk-right-0123456789abcdef"
STALE_SECONDS = 5.0
"""How long services may use former settings."""


class Provider(BaseHTTPRequestHandler):
    """An OpenAI-compatible server with two models below /v1."""

    def do_GET(self) -> None:
        if self.path != "/v1/models":
            self.answer(404, {"error": {"message": "There is nothing here."}})
        elif self.headers["authorization"] != f"Bearer {KEY}":
            self.answer(401, {"error": {"message": "Incorrect API key provided."}})
        else:
            models = ["text-embedding-small", "chat-large"]
            self.answer(200, {"data": [{"id": each} for each in models]})

    def do_POST(self) -> None:
        length = int(self.headers["content-length"])
        model = json.loads(self.rfile.read(length))["model"]
        message = {"role": "assistant", "content": "The loom answers."}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self.answer(200, {"model": model, "choices": [choice]})

    def answer(self, status: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Keep the output of the test free of requests."""


@contextmanager
def provider() -> Iterator[str]:
    """Serve a provider, and yield its address without /v1."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Provider) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Studio]:
    """A Heddle whose environment has a provider, and without Ollama."""
    settings = {
        "HEDDLE_CONNECTOR_OLLAMA_BASE_URL": "http://127.0.0.1:9",
        "HEDDLE_CONNECTOR_ANTHROPIC_API_KEY": "sk-ant-of-the-operator",
        "HEDDLE_CONNECTOR_ANTHROPIC_MODELS": "",
        "HEDDLE_CONNECTOR_ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
    }
    with running(tmp_path_factory.mktemp("models"), browser, **settings) as running_studio:
        yield running_studio


def card(page: Page, title: str) -> Locator:
    return page.get_by_role("region", name=title)


def settings(studio: Studio) -> Any:
    return studio.client.get("/organizations/default").json()["settings"]


@pytest.mark.parametrize(("theme", "width"), VIEWS)
def test_the_screen_is_accessible(studio: Studio, theme: str, width: int) -> None:
    with studio.screen(theme=theme, width=width) as screen:
        screen.open("models")
        expect(card(screen.page, "Anthropic")).to_contain_text("in the environment")
        screen.check()
        screen.picture(f"models-{theme}-{width}")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_screen_fits_in_each_language(studio: Studio, language: str) -> None:
    with studio.screen(language=language, width=390) as screen:
        screen.open("models")
        expect(screen.page.locator("main section")).to_have_count(6)
        screen.check()
        screen.picture(f"models-{language}-390")


def test_a_provider_is_tested_saved_used_and_removed(studio: Studio) -> None:
    with provider() as url, studio.screen() as screen:
        page = screen.page
        screen.open("")
        page.get_by_role("main").get_by_role("link", name="Connect a model").click()
        openai = card(page, "OpenAI, or a compatible server")
        _fail(screen, openai, url)
        openai.get_by_role("button", name=f"Use {url}/v1").click()
        expect(openai).to_contain_text("It works: 2 models.")
        assert settings(studio).get("providers", {}) == {}
        openai.get_by_role("button", name="Test and save").click()
        expect(openai).to_contain_text("New assistants use openai/chat-large.")
        expect(page.get_by_label("Default model")).to_have_value("openai/chat-large")
        stored = settings(studio)["providers"]["openai"]
        assert stored == {"base_url": f"{url}/v1", "api_key": "********", "enabled": True}
        assert KEY not in page.content()
        screen.check()
        screen.picture("models-connected")
        _use(studio, screen)
        openai.get_by_role("button", name="Remove").click()
        page.get_by_role("dialog").get_by_role("button", name="Remove").click()
        expect(openai).to_contain_text("Not connected")
        assert settings(studio).get("providers", {}) == {}
        assert "global_default_model" not in settings(studio)


def _fail(screen: Screen, openai: Locator, url: str) -> None:
    """Try a wrong address and a wrong key: nothing is saved unless one insists."""
    openai.get_by_label("Address").fill(url)
    openai.get_by_label("Key").fill("sk-wrong")
    openai.get_by_role("button", name="Test and save").click()
    expect(openai).to_contain_text(f"its models are not at {url}")
    openai.get_by_role("button", name=f"Use {url}/v1").click()
    expect(openai).to_contain_text("The provider does not accept the key.")
    expect(openai).to_contain_text("Incorrect API key provided.")
    screen.check()
    screen.picture("models-refused")
    openai.get_by_label("Address").fill(url)
    openai.get_by_label("Key").fill(KEY)
    openai.get_by_role("button", name="Test", exact=True).click()


def _use(studio: Studio, screen: Screen) -> None:
    """The provider answers for old and new assistants, and its models are offered."""
    end = time.monotonic() + STALE_SECONDS + 20
    while studio.client.get("/connectors").json()["default_model"] != "openai/chat-large":
        assert time.monotonic() < end
        time.sleep(0.5)
    body = {"name": "weaver", "model": {"connector": "default", "model": "default"}}
    assistant = studio.client.post("/assistants", json=body).raise_for_status().json()
    question = {
        "model": f"lamb_assistant.{assistant['id']}",
        "messages": [{"role": "user", "content": "Who answers?"}],
    }
    answer = studio.client.post("/v1/chat/completions", json=question).raise_for_status().json()
    assert answer["choices"][0]["message"]["content"] == "The loom answers."
    small = screen.page.get_by_label("Model for small tasks")
    small.select_option("openai/chat-large")
    embedding = screen.page.get_by_label("Embedding model of new collections")
    embedding.select_option("multilingual-e5-small-q4")
    screen.page.get_by_role("button", name="Save the choice").click()
    expect(screen.page.get_by_text("The choice is saved")).to_be_visible()
    chosen = {"provider": "openai", "model": "chat-large"}
    assert settings(studio)["small_fast_model"] == chosen
    assert settings(studio)["embedding_model"] == "multilingual-e5-small-q4"


def test_who_insists_saves_what_does_not_work(studio: Studio) -> None:
    with studio.screen() as screen:
        screen.open("models")
        ollama = card(screen.page, "Ollama")
        ollama.get_by_label("Address").fill("http://127.0.0.1:9")
        ollama.get_by_role("button", name="Test and save").click()
        expect(ollama).to_contain_text("No server answers at http://127.0.0.1:9.")
        assert "ollama" not in settings(studio).get("providers", {})
        ollama.get_by_role("button", name="Save anyway").click()
        expect(ollama).to_contain_text("Saved.")
        assert "ollama" in settings(studio)["providers"]
        expect(ollama).to_contain_text("Does not answer")
        screen.check()
