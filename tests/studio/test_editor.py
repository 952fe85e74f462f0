"""The editor of an assistant: its form, its template and its tools."""

import re

import pytest
from playwright.sync_api import expect
from studio.editing import new_assistant, open_editor, open_sections, save, stored, template
from studio.harness import PHONE, VIEWS, Studio
from studio.keyboard import texts

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
TOOLS = [
    {"id": "kb", "type": "word_count"},
    {"type": "word_count", "slot": "words", "enabled": False},
    {"type": "weather", "mode": "function"},
]
EVERY_MEMBER = {
    "title": "Tutor of weaving\u202f😀",
    "description": "Answers\nquestions.",
    "system_prompt": "You are a tutor.\r\n\tBe brief.",
    "prompt_template": "A {context}\r\nB {user_input}\r\n\r\n😀 {0} {word_count}",
    "model": {"connector": "local", "model": "smollm2-135m-instruct"},
    "tools": [
        {
            "id": "first",
            "type": "word_count",
            "mode": "augment",
            "enabled": False,
            "slot": "words",
            "on_failure": "omit",
            "timeout": 2.5,
            "extra": {"colour": "blue"},
        },
        {"id": "second", "type": "weather", "mode": "function", "extra": {"a": [1, None, 0.1]}},
    ],
    "strategy": "sequential",
    "prompt_processor": "moodle_augment",
    "template_syntax": "lamb",
    "icon": "🧵",
    "starter_questions": ["What is a weft?", "Who weaves?"],
    "capabilities": {"vision": True, "image_generation": True},
    "verbose": True,
    "cite_sources": True,
    "max_tool_rounds": 7,
    "empty_response": "Nothing was found.",
    "output_hosts": "example.org *.example.com",
    "extra": {"course": {"id": 12, "names": ["a", "b"]}, "unknown": None},
}


@pytest.mark.parametrize(("theme", "width"), VIEWS)
def test_the_editor_is_accessible_and_fits(development: Studio, theme: str, width: int) -> None:
    members = {
        "title": "Weaving, first year",
        "prompt_template": "{user_input} {wordcount}",
        "tools": TOOLS,
    }
    identifier = new_assistant(development, f"seen_{theme}_{width}", **members)
    with development.screen(theme=theme, width=width) as screen:
        page = screen.page
        open_editor(screen, identifier)
        expect(page.get_by_text("No tool fills {wordcount}")).to_be_visible()
        screen.check()
        page.get_by_role("heading", name="Tools", exact=True).scroll_into_view_if_needed()
        screen.picture(f"editor-{theme}-{width}")
        page.get_by_role("button", name="Weather", expanded=False).click()
        expect(page.get_by_label("When it runs")).to_be_visible()
        screen.check()


def test_a_new_assistant_gets_tools_and_slots_is_tried_and_published(development: Studio) -> None:
    with development.screen() as screen:
        page = screen.page
        screen.open("assistants?new")
        page.get_by_label("Title", exact=True).fill("first_flow")
        page.get_by_role("button", name="Create").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("first_flow")
        identifier = page.url.rpartition("/")[2]
        open_sections(page)
        page.get_by_label("Show debugging models").check()
        page.get_by_label("Provider").select_option("bypass")
        page.get_by_label("Search tools").fill("words")
        page.get_by_role("button", name="Add Word count").click()
        page.get_by_label("Search tools").fill("current file")
        page.get_by_role("button", name="Add Current file").click()
        expect(page.get_by_text("The template does not contain {word_count}")).to_be_visible()
        page.get_by_role("button", name="{user_input} Message of the user").click()
        page.get_by_role("button", name="{word_count} Word count").click()
        template(page).press_sequentially(" {currentfile}")
        expect(page.get_by_text("No tool fills {currentfile}")).to_be_visible()
        page.get_by_role("button", name="Replace with {current_file}").click()
        status = page.get_by_role("status", name="Notes about the template")
        expect(status.get_by_role("listitem")).to_have_count(0)
        save(page)
        assert stored(development, identifier)["prompt_template"] == (
            "{user_input}{word_count} {current_file}"
        )
        assert [each["type"] for each in stored(development, identifier)["tools"]] == [
            "word_count",
            "current_file",
        ]
        expect(page.get_by_text("2 tools run at once before the model.")).to_be_visible()
        screen.check()
        page.get_by_label("Your question").fill("How many words?")
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_role("article")).to_contain_text("The message has 3 words.")
        page.get_by_role("button", name="How it came about").click()
        expect(page.get_by_role("button", name="Tool Word count")).to_be_visible()
        page.get_by_role("link", name="Sharing").click()
        page.get_by_label("Published").check()
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_text("Not saved yet")).to_have_count(0)
        screen.check()
    assert stored(development, identifier)["published"]


def test_every_member_is_the_same_after_another_one_was_edited(development: Studio) -> None:
    identifier = new_assistant(development, "complete", **EVERY_MEMBER)
    before = stored(development, identifier)
    with development.screen() as screen:
        page = screen.page
        open_editor(screen, identifier)
        expect(page.get_by_text("Everything is saved")).to_be_visible()
        for name in ("Word count", "Weather"):
            page.get_by_role("button", name=name, expanded=False).click()
        page.get_by_label("Description (optional)").fill("Another one.")
        save(page)
        assert stored(development, identifier) == {**before, "description": "Another one."}
        screen.check()


def test_each_control_changes_its_member(development: Studio) -> None:
    identifier = new_assistant(
        development, "controls", tools=[{"id": "words", "type": "word_count"}]
    )
    with development.screen() as screen:
        page = screen.page
        open_editor(screen, identifier)
        page.get_by_label("Title (optional)").fill("Controls")
        page.get_by_label("Name", exact=True).fill("controls_2")
        page.get_by_label("Emoji").fill("🧵")
        page.get_by_label("Starter questions").fill("Who?\n\n Why? ")
        page.get_by_label("Provider").select_option("local")
        page.get_by_label("System prompt").fill("Be brief.")
        template(page).fill("{user_input} {words}")
        page.get_by_label("Places in the prompt").select_option("lamb")
        page.get_by_role("button", name="Word count", expanded=False).click()
        page.get_by_label("When it runs").select_option("function")
        expect(page.get_by_label("Place in the prompt")).to_have_count(0)
        page.get_by_label("When it runs").select_option("augment")
        page.get_by_label("Place in the prompt").fill("words")
        page.get_by_label("If it fails").select_option("fail")
        page.get_by_label("Time limit in seconds").fill("1.5")
        page.get_by_label("In use").uncheck()
        page.get_by_label("How the tools work together").select_option("sequential")
        page.get_by_label("Rounds of tool calls").fill("3")
        page.get_by_label("Answer if nothing is found").fill("Nothing.")
        page.get_by_label("Prompt processor").select_option("moodle_augment")
        page.get_by_label("List the sources").check()
        page.get_by_label("Hosts of links and images").fill("none")
        page.get_by_label("Add a trace to each answer").check()
        save(page)
        after = stored(development, identifier)
        expected = {
            "title": "Controls",
            "name": "controls_2",
            "icon": "🧵",
            "starter_questions": ["Who?", "Why?"],
            "model": {"connector": "local", "model": "smollm2-135m-instruct"},
            "system_prompt": "Be brief.",
            "prompt_template": "{user_input} {words}",
            "template_syntax": "lamb",
            "strategy": "sequential",
            "max_tool_rounds": 3,
            "empty_response": "Nothing.",
            "prompt_processor": "moodle_augment",
            "cite_sources": True,
            "output_hosts": "none",
            "verbose": True,
        }
        assert {name: after[name] for name in expected} == expected
        [tool] = after["tools"]
        assert tool == {
            "id": "words",
            "type": "word_count",
            "mode": "augment",
            "enabled": False,
            "slot": "words",
            "config": {},
            "on_failure": "fail",
            "timeout": 1.5,
        }
        screen.check()


@pytest.mark.parametrize("width", [1280, PHONE])
def test_the_editor_speaks_basque_in_the_dark(development: Studio, width: int) -> None:
    template_text = "{user_input} {wordcount}"
    identifier = new_assistant(
        development, f"eu_{width}", prompt_template=template_text, tools=TOOLS
    )
    with development.screen(theme="dark", width=width, language="eu") as screen:
        page = screen.page
        screen.open(f"assistants/{identifier}")
        expect(page.get_by_text("Ez dago tresnarik {wordcount} betetzen duenik")).to_be_visible()
        if width == PHONE:
            expect(page.get_by_label("Bilatu tresnak")).to_be_hidden()
            page.get_by_role("button", name="Gehitu tresna bat").click()
        page.get_by_label("Bilatu tresnak").fill("web")
        expect(page.get_by_role("button", name="Gehitu Web")).to_be_visible()
        page.locator("[data-field=title]").fill("Ehungintza")
        page.get_by_role("button", name="Gorde", exact=True).click()
        expect(page.get_by_text("Dena gordeta dago")).to_be_visible()
        screen.check()
        screen.picture(f"editor-eu-{width}")
    assert stored(development, identifier)["title"] == "Ehungintza"


@pytest.mark.parametrize(
    ("field", "route", "listed"),
    [
        ("model.connector", "/connectors", "connectors"),
        ("strategy", "/strategies", "strategies"),
        ("prompt_processor", "/prompt-processors", "prompt_processors"),
    ],
)
def test_what_an_assistant_is_made_of_is_described_in_the_language_of_the_reader(
    development: Studio, field: str, route: str, listed: str
) -> None:
    identifier = new_assistant(development, f"described_{listed}")
    kind = {"connectors": "connector", "strategies": "strategy"}.get(listed, "processor")
    spoken = texts("eu")
    with development.screen(language="eu") as screen:
        page = screen.page
        screen.open(f"assistants/{identifier}")
        open_sections(page)
        control = page.locator(f"[data-field='{field}']")
        expect(control).to_be_visible()
        page.get_by_label(spoken["models.debugging"]).check()
        offered = control.locator("option").evaluate_all("all => all.map((each) => each.value)")
        names = [each["name"] for each in development.client.get(route).json()[listed]]
        assert len(offered) > 1
        for name in names:
            text = spoken[f"editor.{kind}.text.{name}"].replace("{slot}", "{moodle_user}")
            if name in offered:
                control.select_option(name)
                expect(control).to_have_accessible_description(re.compile(re.escape(text)))
