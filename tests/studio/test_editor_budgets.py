"""The size of the editor, and its speed with a long template and many tools."""

import gzip
from collections.abc import Iterable

import pytest
from heddle_gateway.studio_pages import FOLDER
from playwright.sync_api import expect
from studio.editing import new_assistant, open_editor, save_button
from studio.harness import Studio
from studio.speed import MAX_SECONDS, seconds_until_painted

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
MAX_EDITOR_BYTES = 150_000
"""Of each level, until the template comes onto the screen."""
MAX_TEMPLATE_BYTES = 100_000
"""Of the text editor of the template."""


@pytest.mark.parametrize("level", ["simple", "advanced"])
def test_the_editor_is_within_its_budget(development: Studio, level: str) -> None:
    identifier = new_assistant(development, level, tools=[{"type": "word_count"}])
    loaded: set[str] = set()
    with development.screen(level=level) as screen:
        screen.page.on("requestfinished", lambda request: loaded.add(request.url))
        screen.open(f"assistants/{identifier}")
        screen.settle()
        first = sizes_of(loaded)
        if level == "advanced":
            open_editor(screen, identifier)
            screen.settle()
        later = sizes_of(loaded)
    assert first
    assert sum(first.values()) <= MAX_EDITOR_BYTES, (sum(first.values()), first)
    template = sum(later.values()) - sum(first.values())
    assert template <= MAX_TEMPLATE_BYTES, (template, later)


def sizes_of(urls: Iterable[str]) -> dict[str, int]:
    """Return the compressed sizes of the studio's files among what was loaded."""
    files = [FOLDER / url.partition("/studio/")[2] for url in urls if "/_app/" in url]
    return {file.name: len(gzip.compress(file.read_bytes(), 9)) for file in files}


@pytest.mark.alone
@pytest.mark.parametrize("line", ["x" * 200_000, "A line of a template {word_count}.\n" * 5_900])
def test_a_long_template_with_many_tools_is_edited_without_delay(
    development: Studio, line: str
) -> None:
    tools = [{"type": "word_count", "slot": f"slot_{number}"} for number in range(28)]
    identifier = new_assistant(
        development, f"long_{len(line)}", prompt_template=f"{line} {{user_input}}", tools=tools
    )
    typing = """const content = document.querySelector("[data-template]").shadowRoot
            .querySelector(".cm-content");
        content.focus();
        document.execCommand("insertText", false, "a");"""
    titling = """const input = document.querySelector("[data-field=title]");
        input.value += "a";
        input.dispatchEvent(new Event("input", {bubbles: true}));"""
    moving = """document.querySelectorAll("[aria-label^='Move Word count down']")[3].click();"""
    opening = """document.querySelectorAll("li [aria-expanded=false]")[5].click();"""
    with development.screen() as screen:
        page = screen.page
        open_editor(screen, identifier)
        screen.settle()
        durations = {
            action.split("\n")[0]: min(seconds_until_painted(page, action) for _ in range(4))
            for action in (typing, titling, moving, opening)
        }
        expect(save_button(page)).to_be_enabled()
    assert max(durations.values()) < MAX_SECONDS, durations
