"""Versions of assistants, and undoing a save or a deletion."""

import re

import pytest
from playwright.sync_api import Page, expect
from studio.harness import VIEWS, Studio

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
MODEL = {"connector": "bypass", "model": "simple-bypass"}
UNDO_SECONDS = 10


def new_assistant(studio: Studio, name: str, **members: object) -> str:
    body = {"name": name, "model": MODEL, **members}
    response = studio.client.post("/assistants", json=body)
    response.raise_for_status()
    return str(response.json()["id"])


def delete(page: Page, name: str) -> None:
    """Delete an assistant in the list, with the keyboard."""
    page.get_by_label("Search by name or title").fill(name)
    page.get_by_role("button", name=f"Actions for {name}").press("Enter")
    page.get_by_role("menuitem", name="Delete").press("Enter")
    page.get_by_label(f"Type {name} to confirm").fill(name)
    page.get_by_role("dialog").get_by_role("button", name="Delete").press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.parametrize(("theme", "width"), VIEWS)
def test_a_deletion_is_undone_with_the_keyboard_from_another_screen(
    development: Studio, theme: str, width: int
) -> None:
    name = f"spun_{theme}_{width}"
    new_assistant(development, name)
    with development.screen(theme=theme, width=width) as screen:
        page = screen.page
        screen.open("assistants")
        delete(page, name)
        region = page.get_by_role("region", name="Undo")
        expect(region.get_by_role("status")).to_have_text(
            f"Deleted: {name} Press F8 to go there and undo it."
        )
        screen.check()
        screen.picture(f"undo-{theme}-{width}")
        page.get_by_role("link", name="Heddle").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Home")
        page.keyboard.press("F8")
        expect(region.get_by_role("button", name="Undo")).to_be_focused()
        page.keyboard.press("Enter")
        expect(region.get_by_role("listitem")).to_contain_text(f"The deletion of {name} is undone.")
        screen.check()
    listed = development.client.get("/assistants", params={"selection": "own", "text": name})
    assert [each["name"] for each in listed.json()["assistants"]] == [name]


def test_the_time_of_an_offer_stops_while_it_has_the_focus(development: Studio) -> None:
    new_assistant(development, "carded")
    with development.screen() as screen:
        page = screen.page
        page.clock.install()
        screen.open("assistants")
        delete(page, "carded")
        item = page.get_by_role("region", name="Undo").get_by_role("listitem")
        page.clock.run_for(1_000 * (UNDO_SECONDS - 2))
        page.keyboard.press("F8")
        page.clock.run_for(60_000)
        expect(item).to_have_count(1)
        page.get_by_label("Search by name or title").focus()
        page.clock.run_for(2_000)
        expect(item).to_have_count(1)
        page.clock.run_for(2_000)
        expect(item).to_have_count(0)


def test_each_of_several_deletions_can_be_undone(development: Studio) -> None:
    for name in ("twill", "satin"):
        new_assistant(development, name)
    with development.screen() as screen:
        page = screen.page
        screen.open("assistants")
        for name in ("twill", "satin"):
            delete(page, name)
        items = page.get_by_role("region", name="Undo").get_by_role("listitem")
        expect(items).to_have_count(2)
        for name in ("twill", "satin"):
            items.filter(has_text=name).get_by_role("button", name="Undo").click()
            expect(page.get_by_text(f"The deletion of {name} is undone.").first).to_be_attached()
        page.get_by_label("Search by name or title").fill("")
        expect(page.get_by_role("row").filter(has_text=re.compile("twill|satin"))).to_have_count(2)
