"""Trying an assistant beside its form: progress, answers, sources, failures and the trace."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from knowledge.pages.pdfs import pdf
from playwright.sync_api import Browser, Page, expect
from studio.harness import PHONE, ROOT, VIEWS, Studio, running

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
INGESTION_SECONDS = 60
SHUTTLE = "The shuttle carries the weft through the shed."
TEMPLATE = "Terms: {glossary}\nWisdom: {proverb}\nQuestion: {user_input}"
ASSISTANT = {
    "model": {"connector": "bypass", "model": "full-conversation-bypass"},
    "prompt_template": TEMPLATE,
    "tools": [{"type": "glossary", "slot": "glossary"}, {"type": "proverbs", "slot": "proverb"}],
}


@pytest.fixture(scope="module")
def looms(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Studio]:
    """A Heddle with the tools of the examples."""
    folder: Path = tmp_path_factory.mktemp("looms")
    plugins = str(ROOT / "examples/plugins")
    with running(folder, browser, HEDDLE_TOOLS_PLUGINS_DIR=plugins) as studio:
        yield studio


@pytest.fixture
def editor(looms: Studio, request: pytest.FixtureRequest) -> str:
    """The path of the editor of a new assistant."""
    name = request.node.name.partition("[")[0][-60:]
    suffix = len(looms.client.get("/assistants", params={"selection": "own"}).json()["assistants"])
    body = {**ASSISTANT, "name": f"{name}_{suffix}", "title": "Weaving, first year"}
    created = looms.client.post("/assistants", json=body)
    created.raise_for_status()
    return f"assistants/{created.json()['id']}"


def ask(page: Page, question: str) -> None:
    page.get_by_label("Your question").fill(question)
    page.get_by_role("button", name="Send").click()


@pytest.mark.parametrize(("theme", "width"), VIEWS)
def test_an_answer_and_its_trace_are_accessible(
    looms: Studio, editor: str, theme: str, width: int
) -> None:
    with looms.screen(theme=theme, width=width) as screen:
        page = screen.page
        screen.open(editor)
        if width == PHONE:
            page.get_by_role("button", name="Try it").click()
        ask(page, "What is a heddle?")
        expect(page.get_by_role("article")).to_contain_text("Question:")
        page.get_by_role("button", name="How it came about").wait_for()
        screen.check()
        page.get_by_role("button", name="How it came about").click()
        page.get_by_role("button", name="Tool glossary").click()
        expect(page.get_by_role("heading", name="Output")).to_be_visible()
        screen.settle()
        screen.check()
        screen.picture(f"trial-{theme}-{width}")


def test_the_unsaved_assistant_answers_with_progress_sources_and_outcomes(
    looms: Studio, editor: str
) -> None:
    with looms.screen() as screen:
        page = screen.page
        screen.open(editor)
        page.get_by_label("System prompt").fill("Answer like a weaver.")
        ask(page, "What is a heddle?")
        trial = page.get_by_role("region", name="Conversation")
        expect(trial).to_contain_text("Answer like a weaver.")
        expect(trial).to_contain_text("holds one thread")
        expect(trial).to_contain_text("Used Glossary")
        log = page.get_by_role("log", name="Progress of the answer")
        expect(log).to_contain_text("looking terms up")
        expect(log).to_contain_text("The answer is complete.")
        trial.get_by_text("1. Proverbs").click()
        expect(trial.get_by_text("A stitch in time saves nine.").last).to_be_visible()
        ask(page, "And a shuttle?")
        expect(trial).to_contain_text("And a shuttle?")
        expect(trial.get_by_role("article")).to_have_count(2)
        screen.check()


def test_a_text_of_the_prompt_leads_to_its_tool(looms: Studio, editor: str) -> None:
    with looms.screen() as screen:
        page = screen.page
        screen.open(editor)
        ask(page, "What is a heddle?")
        page.get_by_role("button", name="How it came about").click()
        page.get_by_title("{proverb} · proverbs").last.click()
        page.get_by_role("button", name="Show the tool in the form").click()
        expect(page.locator("[data-field='tools[1]'] [aria-expanded]")).to_be_focused()
        page.get_by_role("button", name="Show the step").click()
        expect(page.get_by_role("button", name="Tool proverbs")).to_be_focused()
        screen.check()


def test_a_lost_connection_loses_neither_the_question_nor_the_answers(
    looms: Studio, editor: str
) -> None:
    with looms.screen() as screen:
        page = screen.page
        screen.open(editor)
        ask(page, "What is a heddle?")
        expect(page.get_by_role("article")).to_contain_text("holds one thread")
        page.context.set_offline(True)
        ask(page, "And a shuttle?")
        expect(page.get_by_role("alert")).to_contain_text("The server cannot be reached")
        page.get_by_label("Your question").fill("typed meanwhile")
        page.context.set_offline(False)
        page.get_by_role("button", name="Ask again").click()
        expect(page.get_by_role("article").last).to_contain_text("Question:")
        page.reload()
        expect(page.get_by_role("article")).to_have_count(2)
        expect(page.get_by_label("Your question")).to_have_value("typed meanwhile")


def test_a_stream_that_is_cut_shows_what_came(looms: Studio, editor: str) -> None:
    with looms.screen() as screen:
        page = screen.page
        screen.open(editor)
        chunk = 'data: {"choices":[{"delta":{"content":"Half a sentence"}}]}\n\n'
        page.route(
            "**/assistants/try",
            lambda route: route.fulfill(content_type="text/event-stream", body=chunk),
        )
        ask(page, "What is a heddle?")
        expect(page.get_by_role("article")).to_contain_text("Half a sentence")
        expect(page.get_by_role("article")).to_contain_text("The connection ended")
        screen.check()


def test_a_refused_assistant_says_what_is_wrong_with_it(looms: Studio, editor: str) -> None:
    with looms.screen() as screen:
        page = screen.page
        looms_path = "**/assistants/try"
        screen.open(editor)
        page.route(
            looms_path,
            lambda route: route.continue_(post_data=route.request.post_data_json and "{}"),
        )
        ask(page, "What is a heddle?")
        expect(page.get_by_role("alert")).to_contain_text("Request req_")
        page.unroute(looms_path)
        page.get_by_role("button", name="Ask again").click()
        expect(page.get_by_role("article")).to_contain_text("holds one thread")


def test_the_last_question_is_changed_and_the_conversation_cleared(
    looms: Studio, editor: str
) -> None:
    with looms.screen() as screen:
        page = screen.page
        screen.open(editor)
        ask(page, "What is a hedle?")
        page.get_by_role("button", name="Change the question").click()
        expect(page.get_by_label("Your question")).to_have_value("What is a hedle?")
        expect(page.get_by_role("article")).to_have_count(0)
        page.get_by_label("Your question").fill("What is a heddle?")
        page.keyboard.press("Enter")
        expect(page.get_by_role("article")).to_contain_text("holds one thread")
        page.get_by_role("button", name="Clear").click()
        expect(page.get_by_role("article")).to_have_count(0)


def test_a_source_shows_the_page_that_it_is_on(looms: Studio) -> None:
    client = looms.client
    store = client.post("/v1/vector_stores", json={"name": "Weaving"}).json()["id"]
    files = {"file": ("loom.pdf", pdf("Loom.", SHUTTLE), "application/pdf")}
    file = client.post("/v1/files", data={"purpose": "assistants"}, files=files).json()["id"]
    client.post(f"/v1/vector_stores/{store}/files", json={"file_id": file}).raise_for_status()
    status = f"/v1/vector_stores/{store}/files/{file}"
    end = time.monotonic() + INGESTION_SECONDS
    while client.get(status).json()["status"] != "completed":
        assert time.monotonic() < end, client.get(status).text
        time.sleep(0.1)
    body = {
        "name": "pages",
        "model": ASSISTANT["model"],
        "prompt_template": "{context}\n{user_input}",
        "tools": [{"type": "simple_rag", "config": {"collections": [store]}}],
    }
    created = client.post("/assistants", json=body)
    with looms.screen() as screen:
        page = screen.page
        screen.open(f"assistants/{created.json()['id']}")
        ask(page, "What carries the weft?")
        page.get_by_role("button", name="How it came about").wait_for()
        source = page.get_by_role("article").get_by_role("group").filter(has_text="page 2").first
        source.locator("summary").click()
        source.get_by_role("button", name="Show the page").click()
        expect(source.get_by_role("img", name="Picture of page 2")).to_be_visible()
        expect(source.locator("mark")).to_have_text(SHUTTLE)
        screen.settle()
        screen.check()
