"""The editor of an assistant with the keyboard only."""

import pytest
from playwright.sync_api import Page, expect
from studio.editing import new_assistant, open_editor, stored, template
from studio.harness import PHONE, Studio

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]


def test_the_template_is_edited_with_the_keyboard_only(development: Studio) -> None:
    tools = [{"type": "word_count"}, {"type": "current_file"}]
    identifier = new_assistant(development, "keyboard", tools=tools)
    with development.screen() as screen:
        page = screen.page
        page.clock.install()
        open_editor(screen, identifier)
        expect(page.get_by_role("button", name="{word_count} Word count")).to_be_visible()
        page.get_by_label("System prompt").focus()
        while not template(page).evaluate("it => it.getRootNode().activeElement === it"):
            page.keyboard.press("Tab")
        assert template(page).get_attribute("aria-label") == "Prompt (template)"
        page.keyboard.type("{user_input} {")
        completion = page.locator("[data-template] [role=listbox]")
        expect(completion.get_by_role("option")).to_have_count(3)
        page.keyboard.type("wo")
        expect(completion.get_by_role("option")).to_have_count(1)
        page.clock.fast_forward(100)  # a completion is not accepted in its first moment
        page.keyboard.press("Enter")
        expect(template(page)).to_have_text("{user_input} {word_count}")
        page.keyboard.press("Control+z")
        expect(template(page)).to_have_text("{user_input} {wo")
        page.keyboard.press("Control+y")
        expect(template(page)).to_have_text("{user_input} {word_count}")
        page.keyboard.press("Tab")
        assert not template(page).evaluate("it => it.getRootNode().activeElement === it")
        page.keyboard.press("Shift+Tab")
        assert template(page).evaluate("it => it.getRootNode().activeElement === it")
        screen.check()


def tab_to(page: Page, name: str) -> None:
    """Press Tab until an element with a name has the focus."""
    script = """() => {
        let element = document.activeElement;
        while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
        const label = element?.labels?.[0]?.textContent;
        const name = element?.getAttribute("aria-label") ?? label ?? element?.textContent;
        return (name ?? "").replace(/\\s+/g, " ").trim();
    }"""
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate(script).startswith(name):
            return
    raise AssertionError(f"Tab does not lead to {name!r}.")


@pytest.mark.parametrize("width", [1280, PHONE])
def test_the_keyboard_alone_creates_an_assistant(development: Studio, width: int) -> None:
    identifier = new_assistant(development, f"typed_{width}")
    with development.screen(width=width) as screen:
        page = screen.page
        open_editor(screen, identifier)
        if width == PHONE:
            tab_to(page, "Add a tool")
            page.keyboard.press("Enter")
        tab_to(page, "Search tools")
        page.keyboard.type("words")
        tab_to(page, "Add Word count")
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Word count", expanded=True)).to_be_focused()
        tab_to(page, "Place in the prompt (optional)")
        page.keyboard.type("words")
        page.get_by_role("heading", level=1).evaluate("it => { it.tabIndex = -1; it.focus(); }")
        tab_to(page, "{words} Word count")
        page.keyboard.press("Enter")
        page.keyboard.type(" words: {user_input}")
        expect(template(page)).to_have_text("{words} words: {user_input}")
        page.get_by_role("heading", level=1).focus()
        tab_to(page, "Save")
        page.keyboard.press("Enter")
        expect(page.get_by_text("Everything is saved")).to_be_visible()
        screen.check()
    after = stored(development, identifier)
    assert after["prompt_template"] == "{words} words: {user_input}"
    assert [each["slot"] for each in after["tools"]] == ["words"]
