"""The two levels of the editor of an assistant."""

import base64
import re

import pytest
from playwright.sync_api import FilePayload, Page, expect
from studio.editing import new_assistant, save, stored
from studio.harness import LANGUAGES, PHONE, Studio

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
TECHNICAL = re.compile(r"connector|slot|placeholder|simple_augment|HEDDLE_|RAG|vs_", re.IGNORECASE)
NOTES = FilePayload(name="notes.md", mimeType="text/markdown", buffer=b"The loom is made of oak.")
PICTURE = base64.b64decode(
    b"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
DESKTOP = 1440


def open_simple(page: Page) -> None:
    """Wait until the simple level is shown."""
    expect(page.get_by_role("heading", name="What can it do?")).to_be_visible()


def test_the_simple_level_makes_an_assistant_of_documents_and_tools(development: Studio) -> None:
    identifier = new_assistant(development, "looms")
    with development.screen(level="simple", width=DESKTOP) as screen:
        page = screen.page
        screen.open(f"assistants/{identifier}")
        open_simple(page)
        page.get_by_label("Title").fill("Looms")
        page.get_by_label("Emoji").fill("🧵")
        page.get_by_label("What should it do?").fill("Answer briefly.")
        page.locator("#main fieldset .min-h-72").scroll_into_view_if_needed()  # it loads when seen
        page.locator("#main fieldset input[type=file][multiple]").set_input_files(NOTES)
        expect(page.get_by_text("1 of 1 files uploaded")).to_be_visible()
        expect(page.get_by_role("checkbox", name="looms")).to_be_checked()
        page.get_by_role("button", name="Add Grade with a rubric").click()
        page.get_by_label("Starter questions").fill("What is the loom made of?")
        page.get_by_text("Show the prompt").click()
        expect(page.get_by_text("Using the text, answer: {user_input}")).to_be_visible()
        trial = page.get_by_role("list", name="Questions to begin with")
        expect(trial.get_by_role("button")).to_have_text("What is the loom made of?")
        assert not TECHNICAL.findall(page.locator("#main fieldset").first.inner_text())
        page.get_by_role("button", name="Remove Grade with a rubric").click()
        save(page)
        screen.check()
        page.get_by_label("Who may use it").select_option("organization")
        expect(page.get_by_text("Saved: Looms, Sharing", exact=True)).to_be_visible()
        screen.open("assistants")
        expect(page.get_by_role("row").filter(has_text="Looms")).to_contain_text("🧵")
    assistant = stored(development, identifier)
    [tool] = assistant["tools"]
    [collection] = tool["config"]["collections"]
    store = development.client.get(f"/v1/vector_stores/{collection}").json()
    assert store["name"] == "looms"
    assert assistant["published"]
    assert assistant["cite_sources"]
    assert assistant["system_prompt"] == "Answer briefly."
    assert assistant["starter_questions"] == ["What is the loom made of?"]
    assert assistant["prompt_template"] == ("Text: {context}\nUsing the text, answer: {user_input}")


def test_changing_levels_loses_nothing_and_tells_what_is_not_shown(development: Studio) -> None:
    members = {
        "description": "About looms.",
        "strategy": "sequential",
        "tools": [{"id": "words", "type": "word_count", "timeout": 2.5}],
        "prompt_template": "{word_count} Mine: {user_input}",
    }
    identifier = new_assistant(development, "levels", **members)
    before = stored(development, identifier)
    with development.screen(level="simple", width=DESKTOP) as screen:
        page = screen.page
        screen.open(f"assistants/{identifier}")
        told = page.get_by_role("status").filter(has_text="has 4 settings that only Advanced shows")
        expect(told).to_contain_text("Description, Prompt (template)")
        page.get_by_label("Title").fill("Levels")
        page.get_by_role("button", name="Show them").click()
        expect(page.get_by_label("Title (optional)")).to_have_value("Levels")
        page.get_by_label("Search settings").fill("together")
        page.get_by_role("button", name="How the tools work together").click()
        expect(page.get_by_label("How the tools work together")).to_be_focused()
        screen.check()
        page.get_by_role("button", name="Simple").click()
        expect(told).to_be_visible()
        save(page)
        screen.check()
    assert stored(development, identifier) == {**before, "title": "Levels"}


def test_a_picture_is_made_small(development: Studio) -> None:
    identifier = new_assistant(development, "picture")
    with development.screen(level="simple") as screen:
        page = screen.page
        screen.open(f"assistants/{identifier}")
        open_simple(page)
        file = FilePayload(name="loom.png", mimeType="image/png", buffer=PICTURE)
        page.get_by_label("Choose a picture").last.set_input_files(file)
        expect(page.get_by_role("button", name="Remove the picture")).to_be_visible()
        save(page)
        screen.check()
    assert stored(development, identifier)["icon"].startswith("data:image/webp;base64,")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_simple_level_is_accessible(development: Studio, language: str) -> None:
    identifier = new_assistant(development, f"simple_{language}")
    with development.screen(level="simple", language=language) as screen:
        screen.open(f"assistants/{identifier}")
        expect(screen.page.locator("[data-field=starter_questions]")).to_be_visible()
        expect(screen.page.get_by_role("presentation").first).to_be_visible()
        screen.check_in_views(f"editor-simple-{{view}}-{language}")


def test_at_most_twenty_tools_are_offered_before_more(development: Studio) -> None:
    identifier = new_assistant(development, "many_tools", model=MODEL_THAT_CALLS)
    with development.screen(width=PHONE) as screen:
        page = screen.page
        screen.open(f"assistants/{identifier}")
        page.get_by_role("button", name="Add a tool").click()
        tools = page.locator("#main fieldset")
        offers = tools.get_by_role("button", name=re.compile("^Add "), include_hidden=True)
        expect(offers).to_have_count(20 + 1)  # and "Add a tool"
        page.get_by_role("button", name=re.compile("^More: ")).click()
        assert offers.count() > 20 + 1
        expect(page.get_by_text("Other", exact=True)).to_have_count(0)
        screen.check()


MODEL_THAT_CALLS = {"connector": "local", "model": "smollm2-135m-instruct"}
