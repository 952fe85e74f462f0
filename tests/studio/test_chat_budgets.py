"""How soon the chat shows what comes, and how it reacts meanwhile."""

import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest
from heddle_runtime.http.egress import SETTING
from playwright.sync_api import Browser, Page, expect
from studio.harness import KEY, running
from studio.school import School
from studio.speed import MAX_SECONDS as BUSY_MAX_SECONDS
from studio.speed import seconds_until_painted
from studio.tutor import tutor

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
MAX_SECONDS = 0.05
ROUNDS, KEYS = 5, 30
ARRIVALS = """const call = window.fetch;
window.fetch = async (...all) => {
    const response = await call(...all);
    if (!response.headers.get("content-type")?.startsWith("text/event-stream")) return response;
    const transform = (part, stream) => {
        if (new TextDecoder().decode(part).includes("output_text.delta"))
            globalThis.arrived ??= performance.now();
        stream.enqueue(part);
    };
    return new Response(response.body.pipeThrough(new TransformStream({transform})), response);
};
new MutationObserver(() => {
    if (globalThis.shown || !document.querySelector("article .prose, article p")) return;
    if (![...document.querySelectorAll("article")].at(-1).textContent.includes("You asked")) return;
    globalThis.shown = performance.now();
    requestAnimationFrame(() => setTimeout(() => (globalThis.painted = performance.now())));
}).observe(document, {childList: true, characterData: true, subtree: true});"""
"""Notes when the first token of an answer arrives, and when the page has painted it."""
TYPING = """const box = document.querySelector("form textarea");
    box.value += "a";
    box.dispatchEvent(new Event("input", {bubbles: true}));"""


@pytest.fixture(scope="module")
def school(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[School]:
    """A school whose provider is the tutor."""
    folder: Path = tmp_path_factory.mktemp("budgets")
    settings = {"HEDDLE_GATEWAY_API_KEY": KEY, SETTING: "127.0.0.0/8"}
    with tutor() as url, running(folder, browser, **settings) as studio:
        yield School(studio, url)


def ask(page: Page, question: str) -> None:
    page.get_by_label("Your question").fill(question)
    page.keyboard.press("Enter")


@pytest.mark.alone
def test_the_first_token_is_shown_at_once(school: School) -> None:
    with school.screen() as screen:
        page = screen.page
        page.add_init_script(ARRIVALS)
        seconds = []
        for number in range(ROUNDS):
            page.goto(f"{screen.url}/studio/chat/new?assistant={school.tutor}")
            ask(page, f"Question {number}")
            expect(page.get_by_role("button", name="Copy the answer")).to_be_visible()
            page.wait_for_function("globalThis.painted")
            seconds.append(page.evaluate("(painted - arrived) / 1000"))
    assert all(each > 0 for each in seconds), seconds
    assert statistics.median(seconds) <= BUSY_MAX_SECONDS, seconds


@pytest.mark.alone
def test_typing_is_answered_at_once_while_100_tokens_a_second_come(school: School) -> None:
    with school.screen() as screen:
        page = screen.page
        page.goto(f"{screen.url}/studio/chat/new?assistant={school.tutor}")
        ask(page, "rich and quickly")
        article = page.get_by_role("article")
        expect(article.locator(".katex").first).to_be_visible()
        expect(article.locator(".hljs-keyword").first).to_be_visible()
        before = len(article.inner_text())
        busy, seconds = busy_seconds(page), []
        for _ in range(KEYS):
            seconds.append(seconds_until_painted(page, TYPING))
            page.wait_for_timeout(50)
        busy = busy_seconds(page) - busy
        assert len(article.inner_text()) > before, "no text came meanwhile"
        expect(page.get_by_role("button", name="Stop")).to_be_visible()
        page.get_by_role("button", name="Stop").click()
    assert busy / KEYS <= MAX_SECONDS, (busy / KEYS, sorted(seconds))
    assert statistics.median(seconds) <= BUSY_MAX_SECONDS, (busy / KEYS, sorted(seconds))


def busy_seconds(page: Page) -> float:
    """Return the CPU time of the page's main thread: other processes do not change it."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    metrics = session.send("Performance.getMetrics")["metrics"]
    session.detach()
    return next(float(each["value"]) for each in metrics if each["name"] == "TaskDuration")
