"""The gallery: ready assistants, which one copies with their documents."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect
from studio.editing import new_assistant
from studio.harness import DESKTOP, LANGUAGES, PHONE, ROOT, VIEWS, Studio, running

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
TITLES = {"en": "Help desk", "es": "Mostrador de ayuda", "ca": "Taulell d'ajuda", "eu": "Laguntza"}


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Studio]:
    """The example assistants, one of them with a document."""
    folder = tmp_path_factory.mktemp("examples")
    with running(
        folder, browser, HEDDLE_ASSISTANTS_DIR=str(ROOT / "examples/assistants")
    ) as studio:
        documents(studio, "help-desk", ROOT / "examples/documents/help-desk/loans.md")
        yield studio


def documents(studio: Studio, name: str, file: Path) -> str:
    """Make a collection with a file, and return its identifier."""
    uploaded = studio.client.post(
        "/v1/files", data={"purpose": "assistants"}, files={"file": (file.name, file.read_bytes())}
    ).json()
    body = {"name": name, "file_ids": [uploaded["id"]], "sharing": "everyone"}
    return str(studio.client.post("/v1/vector_stores", json=body).json()["id"])


def test_an_example_is_copied_with_its_documents(examples: Studio) -> None:
    with examples.screen(level="simple") as screen:
        page = screen.page
        screen.open()
        page.get_by_role("link", name="Start from an example").click()
        cards = page.get_by_role("main").get_by_role("listitem")
        expect(cards).to_have_count(10)
        expect(cards.filter(has_text="Help desk")).to_contain_text("🙋")
        page.get_by_role("button", name="Copy Help desk").click()
        page.get_by_label("Title").fill("Library")
        page.get_by_role("dialog").get_by_role("button", name="Copy", exact=True).click()
        expect(page).to_have_url(re.compile(r"/assistants/\d+"))
        expect(page.get_by_label("Title")).to_have_value("Library")
        expect(page.get_by_role("checkbox", name="help-desk").first).to_be_visible()
        screen.check()
        identifier = page.url.rsplit("/", 1)[1]
    copy = examples.client.get(f"/assistants/{identifier}").json()
    (store,) = copy["tools"][0]["config"]["collections"]
    collection = examples.client.get(f"/v1/vector_stores/{store}").json()
    assert collection["sharing"] == "private"
    assert collection["metadata"] == {"studio_assistant": identifier}
    files = examples.client.get(f"/v1/vector_stores/{store}/files").json()["data"]
    assert [each["filename"] for each in files] == ["loans.md"]


def test_an_example_without_its_documents_says_so(examples: Studio) -> None:
    with examples.screen() as screen:
        page = screen.page
        screen.open("gallery")
        page.get_by_role("button", name="Copy Course assistant").click()
        page.get_by_role("dialog").get_by_role("button", name="Copy", exact=True).click()
        notice = page.get_by_role("status").filter(has_text="Course assistant is made")
        expect(notice).to_contain_text("course-slides")
        screen.check()
        notice.get_by_role("link").click()
        expect(page).to_have_url(re.compile(r"/assistants/\d+"))


def test_the_editor_says_while_documents_are_being_prepared(examples: Studio) -> None:
    store = documents(examples, "minutes", ROOT / "examples/documents/museum.md")
    tools = [{"type": "simple_rag", "config": {"collections": [store]}}]
    identifier = new_assistant(examples, "preparing", tools=tools)
    in_progress = 2

    def counted(route: Route) -> None:
        response = route.fetch()
        body = response.json()
        body["file_counts"]["in_progress"] = in_progress
        route.fulfill(response=response, json=body)

    with examples.screen(level="simple") as screen:
        page = screen.page
        page.route(f"**/v1/vector_stores/{store}", counted)
        screen.open(f"assistants/{identifier}")
        notice = page.get_by_text("2 documents are being prepared")
        expect(notice).to_be_visible()
        screen.check()
        in_progress = 0
        expect(notice).to_have_count(0)


def test_a_new_assistant_may_begin_with_an_example(examples: Studio) -> None:
    with examples.screen() as screen:
        screen.open("assistants?new")
        screen.page.get_by_role("dialog").get_by_role("link", name="Start from an example").click()
        expect(screen.page.get_by_role("button", name="Copy Help desk")).to_be_visible()


@pytest.mark.parametrize(("theme", "width"), VIEWS)
def test_the_gallery_is_accessible_and_fits(examples: Studio, theme: str, width: int) -> None:
    with examples.screen(theme=theme, width=width) as screen:
        screen.open("gallery")
        screen.check()
        screen.picture(f"gallery-{theme}-{width}")
        screen.page.get_by_role("button", name="Copy Help desk").click()
        screen.page.get_by_label("Model", exact=True).wait_for()
        screen.check()
        screen.picture(f"gallery-copy-{theme}-{width}")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_the_gallery_speaks_each_language(examples: Studio, language: str, width: int) -> None:
    with examples.screen(language=language, width=width) as screen:
        screen.open("gallery")
        expect(screen.page.get_by_role("main")).to_contain_text(TITLES[language])
        screen.check()
        screen.picture(f"gallery-{language}-{width}")
