"""An educator between LAMB's pages and the studio, while Heddle follows LAMB's database."""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lamb_stand_in.rows import Rows
from lamb_stand_in.school import ANN, CRITERION, TUTOR, school
from lamb_stand_in.server import PASSWORD
from lamb_stand_in.tokens import SECRET
from playwright.sync_api import Browser, FilePayload, Page, expect
from runtime.ports import free_port
from studio.editing import change, open_editor, save, stored
from studio.harness import KEY, VIEWS, Studio, running
from studio.test_in_front_of_lamb import lamb, log_in

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
NOTES = "A heddle holds one warp thread."
EVERYTHING = "{context}\n{rubric}\nQuestion: {user_input}"
SECONDS = 10


@pytest.fixture
def beside(tmp_path: Path, browser: Browser) -> Iterator[Studio]:
    """A Heddle in front of LAMB that follows its database, and reads the files of its users."""
    database = school(tmp_path / "lamb_v4.db").path
    port = free_port()
    settings = {
        "HEDDLE_GATEWAY_API_KEY": KEY,
        "HEDDLE_LAMB_CHATS": "heddle",
        "HEDDLE_LAMB_DATABASE": str(database),
        "HEDDLE_LAMB_URL": f"http://127.0.0.1:{port}",
        "HEDDLE_TOOLS_FILES_DIR": str(tmp_path / "files"),
        "LAMB_JWT_SECRET": SECRET,
    }
    (tmp_path / "files").mkdir()
    with lamb(port, database), running(tmp_path, browser, **settings) as studio:
        until(studio, lambda it: it.get("published"))
        yield studio


def until(studio: Studio, holds: Callable[[dict[str, Any]], object]) -> None:
    """Wait until Heddle's assistant fulfils a condition."""
    end = time.monotonic() + SECONDS
    while not holds(assistant := stored(studio, str(TUTOR))):
        assert time.monotonic() < end, assistant
        time.sleep(0.05)


def open_form(page: Page, url: str) -> None:
    """Open the assistant in LAMB's pages."""
    page.goto(f"{url}/assistants")
    page.get_by_role("link", name="1_weaver").click()
    expect(page.get_by_label("Name")).to_have_value("1_weaver")
    expect(page.locator("#live")).to_have_text("welcome")


def save_form(page: Page) -> None:
    """Save LAMB's form."""
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#saved")).to_have_text("Assistant updated successfully")


def sign_in(page: Page) -> None:
    """Sign in to the studio with the password of LAMB."""
    page.get_by_label("E-mail address").fill(ANN)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("1_weaver")


def test_an_assistant_keeps_the_tools_of_both_sides_and_its_answer_shows_them(
    beside: Studio,
) -> None:
    with beside.screen() as screen:
        page = screen.page
        log_in(page, beside.url)
        open_form(page, beside.url)
        file = FilePayload(name="notes.md", mimeType="text/markdown", buffer=NOTES.encode())
        page.get_by_label("New file").set_input_files(file)
        page.get_by_role("button", name="Upload").click()
        expect(page.locator("#uploaded")).to_have_text(f"1/notes.md {len(NOTES)}")
        page.get_by_label("RAG processor").select_option("single_file_rag")
        page.get_by_label("File", exact=True).select_option("1/notes.md")
        page.get_by_label("Prompt template").fill(EVERYTHING)
        save_form(page)
        until(beside, lambda it: [each["type"] for each in it["tools"]] == ["single_file"])

        screen.open(f"assistants/{TUTOR}")
        sign_in(page)
        open_editor(screen, str(TUTOR))
        page.get_by_label("Search tools").fill("rubric")
        page.get_by_role("button", name="Add Assessment Rubric").click()
        page.get_by_label("Rubric", exact=True).select_option(label="Weaving")
        save(page)

        open_form(page, beside.url)
        page.get_by_label("System prompt").fill("Be exact.")
        save_form(page)
        until(beside, lambda it: it["system_prompt"] == "Be exact.")
        tools = stored(beside, str(TUTOR))["tools"]
        assert {each["type"] for each in tools} == {"single_file", "rubric"}

        page.get_by_label("Message").fill("Why does the shed close?")
        page.get_by_role("button", name="Send").click()
        answer = page.locator("#messages li[data-complete]")
        for part in ("Be exact.", NOTES, CRITERION, "Why does the shed close?"):
            expect(answer).to_contain_text(part)
    assert "tools" not in str(Rows(beside.folder / "lamb_v4.db").assistant(TUTOR))


def test_an_assistant_that_is_created_and_published_in_lamb_is_a_model_of_heddle(
    beside: Studio,
) -> None:
    with beside.screen() as screen:
        page = screen.page
        log_in(page, beside.url)
        page.goto(f"{beside.url}/assistants")
        page.get_by_label("Name").fill("dyer")
        page.get_by_role("button", name="Create").click()
        page.get_by_role("link", name="1_dyer").click()
        page.get_by_role("button", name="Publish").click()
        expect(page.get_by_role("button", name="Unpublish")).to_be_visible()
        identifier = page.url.rpartition("=")[2]
    path = f"/v1/models/lamb_assistant.{identifier}"
    end = time.monotonic() + SECONDS
    while (response := beside.client.get(path)).status_code != 200:
        assert time.monotonic() < end, response.text
        time.sleep(0.05)
    assert response.json()["name"] == "1_dyer"


@pytest.mark.parametrize(("theme", "width"), VIEWS)
def test_a_version_says_what_changed_on_both_sides_and_brings_heddle_s_value_back(
    beside: Studio, theme: str, width: int
) -> None:
    change(beside, str(TUTOR), system_prompt="Heddle's words")
    with beside.screen(theme=theme, width=width) as screen:
        page = screen.page
        log_in(page, beside.url)
        open_form(page, beside.url)
        page.get_by_label("System prompt").fill("LAMB's words")
        save_form(page)
        until(beside, lambda it: it["system_prompt"] == "LAMB's words")
        screen.open(f"assistants/{TUTOR}")
        sign_in(page)
        screen.open(f"assistants/{TUTOR}/versions")
        newest = page.get_by_role("link", name=re.compile("^Version")).first
        expect(newest).to_contain_text("Changed in LAMB and in Heddle: system_prompt.")
        number = re.search(r"version (\d+) has the others", newest.inner_text())
        assert number, newest.inner_text()
        screen.check(expected=("401",))
        screen.picture(f"changed-in-lamb-{theme}-{width}")
        page.get_by_role("link", name=re.compile(f"^Version {number[1]}")).press("Enter")
        page.get_by_role("button", name="Restore this version").press("Enter")
        expect(page.get_by_text(f"what it was in version {number[1]}.")).to_be_visible()
    assert stored(beside, str(TUTOR))["system_prompt"] == "Heddle's words"
