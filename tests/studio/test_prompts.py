"""The library of prompts in the editor: saved, shared, inserted and deleted."""

import pytest
from playwright.sync_api import expect
from studio.editing import new_assistant
from studio.harness import VIEWS, Studio

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
INSTRUCTIONS = "You help students to find the answer themselves."


@pytest.mark.parametrize("level", ["simple", "advanced"])
def test_instructions_are_saved_and_inserted_into_another_assistant(
    development: Studio, level: str
) -> None:
    title = f"Kind tutor {level}"
    source = new_assistant(development, f"source_{level}", system_prompt=INSTRUCTIONS)
    target = new_assistant(development, f"target_{level}", system_prompt="Be brief.")
    with development.screen(level=level) as screen:
        page = screen.page
        screen.open(f"assistants/{source}")
        page.get_by_role("button", name="Save to the library").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Title").fill(title)
        dialog.get_by_label("Other teachers of the organisation may insert it").check()
        dialog.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_text(f"{title} is in the library.")).to_be_visible()
        screen.open(f"assistants/{target}")
        page.get_by_role("button", name="Insert from the library").click()
        dialog.get_by_label("Search the library").fill(level)
        expect(dialog.get_by_role("listitem")).to_have_count(1)
        expect(dialog.get_by_role("listitem")).to_contain_text("Shared")
        dialog.get_by_role("button", name=f"Insert {title}").click()
        expect(dialog).to_have_count(0)
        label = "What should it do?" if level == "simple" else "Instructions (system prompt)"
        expect(page.get_by_label(label)).to_have_value(f"Be brief.\n\n{INSTRUCTIONS}")
        page.get_by_role("button", name="Insert from the library").click()
        dialog.get_by_label("Search the library").fill(level)
        dialog.get_by_role("button", name="Delete").click()
        dialog.get_by_role("button", name=f"Delete {title} now").click()
        expect(dialog.get_by_role("heading", name=title)).to_have_count(0)
    prompts = development.client.get("/prompts").json()["prompts"]
    assert title not in [each["title"] for each in prompts]


@pytest.mark.parametrize(("theme", "width"), VIEWS)
def test_the_library_is_accessible_and_fits(development: Studio, theme: str, width: int) -> None:
    identifier = new_assistant(development, f"library_{theme}_{width}", system_prompt=INSTRUCTIONS)
    body = {
        "title": "Kind tutor",
        "description": "Helps without solving.",
        "system_prompt": INSTRUCTIONS,
        "prompt_template": "{context}\n\n{user_input}",
        "public": True,
    }
    assert development.client.post("/prompts", json=body).status_code == 201
    with development.screen(theme=theme, width=width, level="simple") as screen:
        screen.open(f"assistants/{identifier}")
        screen.page.get_by_role("button", name="Insert from the library").click()
        screen.page.get_by_role("heading", name="Kind tutor").first.wait_for()
        screen.check()
        screen.picture(f"prompts-{theme}-{width}")
        screen.page.keyboard.press("Escape")
        screen.page.get_by_role("button", name="Save to the library").click()
        screen.page.get_by_label("Other teachers of the organisation may insert it").wait_for()
        screen.check()
        screen.picture(f"prompts-save-{theme}-{width}")
