"""What the tests of the editor share."""

from typing import Any

from playwright.sync_api import Locator, Page, expect
from studio.harness import Screen, Studio

MODEL = {"connector": "bypass", "model": "simple-bypass"}
Members = dict[str, Any]


def new_assistant(studio: Studio, name: str, **members: Any) -> str:
    """Create an assistant and return its identifier."""
    response = studio.client.post("/assistants", json={"name": name, "model": MODEL, **members})
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


def stored(studio: Studio, identifier: str) -> Members:
    """Return the stored assistant."""
    members: Members = studio.client.get(f"/assistants/{identifier}").json()
    return members


def change(studio: Studio, identifier: str, **members: Any) -> None:
    """Save an assistant as another user would."""
    body = {**stored(studio, identifier), **members}
    studio.client.put(f"/assistants/{identifier}", json=body).raise_for_status()


def open_editor(screen: Screen, identifier: str) -> None:
    """Open the editor, and wait until all of it is shown."""
    screen.open(f"assistants/{identifier}")
    screen.page.locator("[data-field=prompt_template]").scroll_into_view_if_needed()
    expect(template(screen.page)).to_be_visible()
    screen.page.evaluate("scrollTo(0, 0)")
    expect(screen.page.get_by_role("heading", name="Strategy and answers")).to_be_visible()
    open_sections(screen.page)


def open_sections(page: Page) -> None:
    """Open all parts of the form."""
    page.locator("[data-section]").first.wait_for(state="attached")
    page.evaluate("document.querySelectorAll('[data-section]').forEach((it) => (it.open = true))")


def template(page: Page) -> Locator:
    """Return the text editor of the template."""
    return page.locator("[data-template] .cm-content")


def save_button(page: Page) -> Locator:
    """Return the button that saves."""
    return page.get_by_role("button", name="Save", exact=True)


def save(page: Page) -> None:
    """Save, and wait until everything is saved."""
    save_button(page).click()
    expect(page.get_by_text("Everything is saved")).to_be_visible()
