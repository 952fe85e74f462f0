"""The first visit: from a document to an answer from it, with the embedded model."""

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from playwright.sync_api import Browser, FilePayload, Route, expect
from studio.harness import LANGUAGES, VIEWS, Studio, running

pytestmark = [
    pytest.mark.skipif(find_spec("xllamacpp") is None, reason="the model is not installed"),
    pytest.mark.exhaustive,
    pytest.mark.timeout(300),
]
ROOT = Path(__file__).parents[2]
MAX_CLICKS = 6
CLICKS_OF_A_FILE_DIALOG = 2
"""A file and "Open"."""
SECONDS = 60_000
TEXT = (
    b"# The museum\n\nThe museum of weaving opens at nine.\n\n"
    b"The heddles of the museum are made of blue wool.\n"
)
COUNT = """addEventListener("click", ({isTrusted}) => {
    if (isTrusted) sessionStorage.clicks = Number(sessionStorage.clicks ?? 0) + 1;
}, true)"""


def document(name: str, text: bytes = TEXT) -> FilePayload:
    media_type = "application/pdf" if name.endswith(".pdf") else "text/markdown"
    return {"name": name, "mimeType": media_type, "buffer": text}


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Studio]:
    """What `make up` runs, without a provider."""
    folder = tmp_path_factory.mktemp("fresh")
    with running(
        folder,
        browser,
        HEDDLE_ASSISTANTS_DIR=str(ROOT / "examples/assistants"),
        HEDDLE_TOOLS_PLUGINS_DIR=str(ROOT / "examples/plugins"),
    ) as studio:
        yield studio


def counts(studio: Studio, title: str) -> dict[str, int]:
    """Return how many things with a title or file name there are."""
    files = studio.client.get("/v1/files").json()["data"]
    stores = studio.client.get("/v1/vector_stores", params={"limit": 100}).json()["data"]
    query = {"selection": "own", "text": title}
    assistants = studio.client.get("/assistants", params=query).json()["assistants"]
    return {
        "files": sum(each["filename"] == f"{title}.md" for each in files),
        "stores": sum(each["name"] == title for each in stores),
        "assistants": len(assistants),
    }


ONE_EACH = {"files": 1, "stores": 1, "assistants": 1}


def test_a_first_visit_leads_in_six_clicks_to_an_answer_from_the_visitor_s_document(
    fresh: Studio,
) -> None:
    with fresh.screen() as screen:
        page = screen.page
        page.add_init_script(COUNT)
        screen.open()
        page.get_by_role("link", name="Choose a document").click()
        with page.expect_file_chooser() as chooser:
            page.get_by_label("Document").click()
        chooser.value.set_files(document("Museum guide.md"))
        expect(page.get_by_label("Name of the assistant")).to_have_value("Museum guide")
        expect(page.get_by_label("Model", exact=True)).to_contain_text("Default model")
        page.get_by_role("button", name="Create").click()
        expect(page).to_have_url(re.compile(r"/assistants/\d+"), timeout=SECONDS)
        page.get_by_label("Your question").click()
        page.keyboard.type("What are the heddles of the museum made of?")
        page.keyboard.press("Enter")
        answer = page.get_by_role("article").last
        expect(answer).to_contain_text("wool", timeout=SECONDS)
        answer.get_by_role("heading", name=re.compile("source")).wait_for()
        expect(answer).to_contain_text("The museum")
        clicks = int(page.evaluate("Number(sessionStorage.clicks)")) + CLICKS_OF_A_FILE_DIALOG
        assert clicks <= MAX_CLICKS
        screen.picture("first-assistant")
        screen.check()
        identifier = page.url.rsplit("/", 1)[1]
    assert counts(fresh, "Museum guide") == ONE_EACH
    question = {"role": "user", "content": "What are the heddles of the museum made of?"}
    body = {"model": f"lamb_assistant.{identifier}", "messages": [question], "temperature": 0}
    answer = fresh.client.post("/v1/chat/completions", json=body).json()
    assert "wool" in answer["choices"][0]["message"]["content"]
    assert "blue wool" in answer["sources"][0]["document"][0]


@pytest.mark.parametrize(("theme", "width"), VIEWS)
def test_the_way_to_the_first_assistant_is_accessible(
    fresh: Studio, theme: str, width: int
) -> None:
    with fresh.screen(theme=theme, width=width) as screen:
        page = screen.page
        screen.open("start")
        page.get_by_label("Document").set_input_files(document("Looms.md"))
        screen.check()
        screen.picture(f"start-{theme}-{width}")
        page.route("**/v1/vector_stores", lambda route: route.abort())
        page.get_by_role("button", name="Create").press("Enter")
        expect(page.get_by_role("alert")).to_be_visible()
        screen.check(expected=("ERR_FAILED",))
        page.unroute("**/v1/vector_stores")
        page.get_by_role("button", name="Start over with another document").press("Enter")
        expect(page.get_by_label("Document")).to_be_visible()
    assert counts(fresh, "Looms") == {"files": 0, "stores": 0, "assistants": 0}


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_first_assistant_speaks_each_language(fresh: Studio, language: str) -> None:
    title = f"Ehuntegia {language}"
    with fresh.screen(language=language) as screen:
        page = screen.page
        screen.open("start")
        page.locator("input[type=file]").set_input_files(document(f"{title}.md"))
        page.locator("button[type=submit]").click()
        expect(page).to_have_url(re.compile(r"/assistants/\d+"), timeout=SECONDS)
        screen.check(expected=("400",) if language in ("ca", "eu") else ())


LOST = {
    "upload": ("POST", "**/v1/files"),
    "collection": ("POST", "**/v1/vector_stores"),
    "reading": ("POST", "**/v1/vector_stores/*/files"),
    "assistant": ("POST", "**/assistants"),
}


@pytest.mark.parametrize("step", LOST)
def test_a_lost_response_and_a_reload_make_nothing_twice(fresh: Studio, step: str) -> None:
    """The server does what it is asked, and its response does not arrive."""
    method, pattern = LOST[step]
    title = f"Lost {step}"

    def lose(route: Route) -> None:
        if route.request.method == method:
            route.fetch()
            route.abort()
        else:
            route.continue_()

    with fresh.screen() as screen:
        page = screen.page
        screen.open("start")
        page.route(pattern, lose)
        page.get_by_label("Document").set_input_files(document(f"{title}.md"))
        page.get_by_role("button", name="Create").click()
        expect(page.get_by_role("alert")).to_contain_text("cannot be reached", timeout=SECONDS)
        page.unroute(pattern)
        screen.open()
        page.get_by_role("link", name="Continue").click()
        expect(page).to_have_url(re.compile(r"/assistants/\d+"), timeout=SECONDS)
    assert counts(fresh, title) == ONE_EACH


def test_an_upload_that_a_reload_interrupts_goes_on_with_the_file(fresh: Studio) -> None:
    with fresh.screen() as screen:
        page = screen.page
        screen.open("start")
        page.route("**/v1/files", refuse)
        page.get_by_label("Document").set_input_files(document("Cut off.md"))
        page.get_by_role("button", name="Create").click()
        expect(page.get_by_role("alert")).to_be_visible()
        page.unroute("**/v1/files")
        page.reload()
        again = page.get_by_label("Choose Cut off.md again")
        expect(again).to_be_visible()
        screen.check(expected=("ERR_FAILED",))
        again.set_input_files(document("Cut off.md"))
        expect(page).to_have_url(re.compile(r"/assistants/\d+"), timeout=SECONDS)
    assert counts(fresh, "Cut off") == ONE_EACH


def refuse(route: Route) -> None:
    """Interrupt an upload."""
    if route.request.method == "POST":
        route.abort()
    else:
        route.continue_()


def test_a_document_that_cannot_be_read_says_why_and_is_read_again(fresh: Studio) -> None:
    with fresh.screen() as screen:
        page = screen.page
        screen.open("start")
        page.get_by_label("Document").set_input_files(document("Broken.pdf", b"%PDF-1.7 broken"))
        page.get_by_role("button", name="Create").click()
        expect(page.get_by_text("Broken.pdf cannot be read")).to_be_visible(timeout=SECONDS)
        page.get_by_role("button", name="Try again").click()
        expect(page.get_by_text("Broken.pdf cannot be read")).to_be_visible(timeout=SECONDS)
        screen.check()
        page.get_by_role("button", name="Start over with another document").click()
        expect(page.get_by_label("Document")).to_be_visible()
