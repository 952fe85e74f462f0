"""The syntax of a template in the editor: which names in braces are slots."""

from typing import Any

import pytest
from playwright.sync_api import expect
from studio.editing import new_assistant, open_editor, save, stored, template
from studio.harness import LANGUAGES, VIEWS, Studio

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
TEMPLATE = r"{context} \frac{a}{b} {{user}} {current_file} {user_input}"
TOOLS: list[dict[str, Any]] = [{"type": "current_file", "slot": "current_file"}]
LABEL = "Places in the prompt (slots)"


@pytest.mark.parametrize(("theme", "width"), VIEWS)
def test_only_the_slots_of_the_chosen_syntax_are_marked(
    development: Studio, theme: str, width: int
) -> None:
    name = f"syntax_{theme}_{width}"
    identifier = new_assistant(development, name, prompt_template=TEMPLATE, tools=TOOLS)
    with development.screen(theme=theme, width=width) as screen:
        page = screen.page
        open_editor(screen, identifier)
        slots = template(page).locator(".slot")
        all_names = ["{context}", "{a}", "{b}", "{current_file}", "{user_input}"]
        expect(slots).to_have_text(all_names)
        expect(template(page).locator(".unknown")).to_have_text(["{context}", "{a}", "{b}"])
        expect(page.get_by_text("No tool fills {a}, so it is removed")).to_be_visible()
        page.get_by_label(LABEL).select_option(label="Known names (LAMB)")
        expect(slots).to_have_text(["{context}", "{current_file}", "{user_input}"])
        expect(page.get_by_text("All other braces stay as they are")).to_be_visible()
        expect(page.get_by_text("No tool fills {a}")).to_have_count(0)
        screen.check()
        page.get_by_label(LABEL).scroll_into_view_if_needed()
        screen.picture(f"template-syntax-{theme}-{width}")
        save(page)
        assert stored(development, identifier)["template_syntax"] == "lamb"
        page.get_by_label(LABEL).select_option(label="Every name in braces")
        expect(slots).to_have_text(all_names)
        save(page)
        assert stored(development, identifier)["template_syntax"] in ("", "heddle")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_choice_of_the_syntax_fits_a_phone_in_every_language(
    development: Studio, language: str
) -> None:
    name = f"syntax_{language}"
    syntax = {"template_syntax": "lamb"}
    identifier = new_assistant(development, name, prompt_template=TEMPLATE, **syntax)
    with development.screen(theme="dark", width=360, language=language) as screen:
        screen.open(f"assistants/{identifier}")
        screen.page.locator("[data-field=prompt_template]").scroll_into_view_if_needed()
        expect(template(screen.page)).to_be_visible()
        field = screen.page.locator("select[data-field=template_syntax]")
        expect(field).to_have_value("lamb")
        screen.check()
        field.scroll_into_view_if_needed()
        screen.picture(f"template-syntax-{language}")
