"""The tools in the editor of an assistant: order, removal, and what is offered."""

import pytest
from playwright.sync_api import Page, expect
from studio.editing import new_assistant, open_editor, save, stored
from studio.harness import Studio

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]


def names_of_tools(page: Page) -> list[str]:
    tools = page.get_by_role("list", name="Chosen tools").get_by_role("listitem")
    return [text.split("\n")[0] for text in tools.all_inner_texts()]


def test_tools_are_ordered_by_keyboard_and_pointer_and_removed_with_undo(
    development: Studio,
) -> None:
    tools = [{"type": name} for name in ("word_count", "current_file", "list_files", "word_count")]
    identifier = new_assistant(development, "ordered", tools=tools)
    with development.screen() as screen:
        page = screen.page
        open_editor(screen, identifier)
        page.get_by_role("button", name="Move Current file:").press("ArrowUp")
        expect(page.get_by_text("Current file is now at position 1 of 4.")).to_be_attached()
        expect(page.get_by_role("button", name="Move Current file:")).to_be_focused()
        assert names_of_tools(page)[:2] == ["Current file", "Word count"]
        page.get_by_role("button", name="Move List files up").click()
        assert names_of_tools(page) == ["Current file", "List files", "Word count", "Word count"]
        grip = page.get_by_role("button", name="Move Current file:")
        grip.drag_to(page.get_by_role("button", name="Move Word count:").last)
        assert names_of_tools(page) == ["List files", "Word count", "Word count", "Current file"]
        page.get_by_role("button", name="Remove List files").click()
        assert names_of_tools(page) == ["Word count", "Word count", "Current file"]
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_text("List files is back.").first).to_be_visible()
        assert names_of_tools(page) == ["List files", "Word count", "Word count", "Current file"]
        save(page)
        order = [each["type"] for each in stored(development, identifier)["tools"]]
        assert order == ["list_files", "word_count", "word_count", "current_file"]
        screen.check()


def test_only_what_the_model_and_the_strategy_can_do_is_offered(development: Studio) -> None:
    identifier = new_assistant(development, "offers")
    with development.screen() as screen:
        page = screen.page
        open_editor(screen, identifier)
        search = page.get_by_label("Search tools")
        search.fill("weather")
        expect(page.get_by_text("No tool matches.")).to_be_visible()
        page.get_by_label("Show debugging models").check()
        page.get_by_label("Provider").select_option("local")
        page.get_by_role("button", name="Add Weather").click()
        modes = page.get_by_label("When it runs")
        expect(modes.locator("option")).to_have_count(1)
        page.get_by_label("Provider").select_option("bypass")
        expect(page.get_by_text("This model cannot call 1 tool.")).to_be_visible()
        expect(page.get_by_text("bypass does not call functions")).to_be_visible()
        search.fill("web")
        page.get_by_role("button", name="Add Web Search").click()
        expect(modes.last.locator("option")).to_have_count(1)
        page.get_by_label("How the tools work together").select_option("agent")
        expect(modes.last.locator("option")).to_have_count(2)
        modes.last.select_option("agent")
        expect(page.get_by_text("The agent decides whether 1 tool runs.")).to_be_visible()
        screen.check()
