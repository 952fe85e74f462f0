"""Versions of assistants, and undoing a save or a deletion."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from studio.harness import VIEWS, Studio, running

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
MODEL = {"connector": "bypass", "model": "simple-bypass"}
UNDO_SECONDS = 10
LONG = "The shuttle carries the weft. " * 60
VERSIONS = 500
MAX_SECONDS = 0.2


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


def save(studio: Studio, identifier: str, **members: object) -> str:
    """Save changed members, and return the new ETag."""
    read = studio.client.get(f"/assistants/{identifier}")
    body = {**read.json(), **members}
    response = studio.client.put(f"/assistants/{identifier}", json=body)
    response.raise_for_status()
    return str(response.headers["etag"])


def rag(identifier: str, count: int) -> dict[str, object]:
    config = {"collections": ["looms"], "top_k": count}
    return {"id": identifier, "type": "simple_rag", "config": config}


@pytest.fixture(scope="module")
def woven(development: Studio) -> str:
    """An assistant with four versions."""
    identifier = new_assistant(development, "woven", tools=[rag("pages", 3)])
    save(development, identifier, system_prompt=f"{LONG}End.")
    save(
        development,
        identifier,
        system_prompt=f"{LONG}The end!",
        tools=[{"id": "count", "type": "word_count"}, rag("pages", 5)],
    )
    save(development, identifier, cite_sources=True, title="Woven <b>cloth</b>")
    return identifier


@pytest.mark.parametrize(("theme", "width"), VIEWS)
def test_the_versions_are_accessible(
    development: Studio, woven: str, theme: str, width: int
) -> None:
    with development.screen(theme=theme, width=width) as screen:
        screen.open(f"assistants/{woven}/versions")
        expect(screen.page.get_by_role("heading", level=1)).to_have_text(
            "Versions of Woven <b>cloth</b>"
        )
        screen.check()
        screen.open(f"assistants/{woven}/versions?version=3")
        expect(screen.page.get_by_text("removed:")).to_have_count(1)
        screen.page.get_by_text("The whole assistant in this version").click()
        screen.settle()
        screen.check()
        screen.picture(f"versions-{theme}-{width}")


def test_any_two_versions_are_compared_by_field_with_the_keyboard(
    development: Studio, woven: str
) -> None:
    with development.screen() as screen:
        page = screen.page
        screen.open(f"assistants/{woven}/versions")
        page.get_by_role("link", name=re.compile("^Version 3")).press("Enter")
        panel = page.get_by_role("region", name="Version 3")
        expect(panel.locator("ins")).to_have_text(["[added: The end!]"])
        expect(panel.locator("del")).to_have_text(["[removed: End.]"])
        expect(panel.get_by_role("heading", name="Tool: Knowledge pages")).to_be_visible()
        expect(panel.get_by_text("Results", exact=True)).to_be_visible()
        expect(panel.get_by_role("heading", name="Tool: Word Count")).to_be_visible()
        panel.get_by_role("button", name=re.compile("unchanged characters")).press("Enter")
        expect(panel.get_by_text(LONG)).to_be_visible()
        panel.get_by_label("Compare with").select_option("1")
        expect(panel.locator("[data-compared='1-3']")).to_be_visible()
        expect(page).to_have_url(re.compile(r"version=3&with=1"))
        page.reload()
        expect(panel.locator("[data-compared='1-3']")).to_be_visible()
        screen.check()


def test_a_version_is_restored_as_a_new_one_and_the_restoring_is_undone(
    development: Studio,
) -> None:
    identifier = new_assistant(development, "ribbon", title="Ribbon", system_prompt="old")
    save(development, identifier, system_prompt="new")
    with development.screen() as screen:
        page = screen.page
        screen.open(f"assistants/{identifier}/versions?version=1")
        page.get_by_role("button", name="Restore this version").press("Enter")
        expect(page.get_by_text("what it was in version 1. This is version 3.")).to_be_visible()
        assert prompt_of(development, identifier) == "old"
        expect(page.get_by_role("link", name=re.compile("^Version 3"))).to_contain_text("current")
        page.keyboard.press("F8")
        page.keyboard.press("Enter")
        expect(page.get_by_role("link", name=re.compile("^Version 4"))).to_contain_text("current")
        assert prompt_of(development, identifier) == "new"
        screen.check()


def prompt_of(studio: Studio, identifier: str) -> str:
    return str(studio.client.get(f"/assistants/{identifier}").json()["system_prompt"])


@pytest.mark.parametrize(("theme", "width"), VIEWS)
def test_a_restoring_that_meets_another_save_shows_both(
    development: Studio, theme: str, width: int
) -> None:
    identifier = new_assistant(development, f"clash_{theme}_{width}", system_prompt="first")
    save(development, identifier, system_prompt="second")
    with development.screen(theme=theme, width=width) as screen:
        page = screen.page
        screen.open(f"assistants/{identifier}/versions?version=1")
        save(development, identifier, description="from another teacher")
        page.get_by_role("button", name="Restore this version").click()
        conflict = page.get_by_role("region", name="Another change came first")
        expect(conflict).to_contain_text("Operator saved version 3")
        expect(conflict.locator("[data-compared='2-3'] ins")).to_contain_text("another teacher")
        expect(conflict.locator("[data-compared='3-1'] ins")).to_contain_text("first")
        assert prompt_of(development, identifier) == "second"
        screen.check(expected=("409",))
        conflict.get_by_role("button", name="Restore anyway").click()
        expect(page.get_by_text("what it was in version 1. This is version 4.")).to_be_visible()
        assert prompt_of(development, identifier) == "first"


@pytest.fixture(scope="module")
def often_saved(
    tmp_path_factory: pytest.TempPathFactory, browser: Browser
) -> Iterator[tuple[Studio, str]]:
    """A Heddle with an assistant that was saved often."""
    folder = tmp_path_factory.mktemp("often")
    most = str(2 * VERSIONS)
    with running(folder, browser, HEDDLE_ASSISTANTS_VERSIONS=most) as studio:
        identifier = new_assistant(studio, "often")
        for number in range(2, VERSIONS + 1):
            save(studio, identifier, system_prompt=f"{LONG}{number}")
        yield studio, identifier


def test_paging_and_comparing_many_versions_is_fast(often_saved: tuple[Studio, str]) -> None:
    studio, identifier = often_saved
    with studio.screen() as screen:
        page = screen.page
        screen.open(f"assistants/{identifier}/versions")
        expect(page.locator(f"[data-compared='{VERSIONS - 1}-{VERSIONS}']")).to_be_visible()
        paging = []
        for number in (475, 450, 425):
            click = "document.querySelector('nav[aria-label=Pages] button:last-child').click()"
            paging.append(seconds(page, click, f"a[href='?version={number}']"))
            screen.settle()
        comparing = []
        for number in (420, 415, 410):
            click = f"document.querySelector(\"a[href='?version={number}']\").click()"
            comparing.append(seconds(page, click, f"[data-compared='{number - 1}-{number}']"))
        durations = [min(paging), min(comparing)]
    assert max(durations) < MAX_SECONDS, durations


def seconds(page: Page, action: str, selector: str) -> float:
    """Return how long it takes in the browser from an action until an element is shown.

    Args:
        page: The page.
        action: A statement of JavaScript.
        selector: The element.
    """
    script = """(selector) => new Promise((done) => {
        const start = performance.now();
        const look = () => {
            if (document.querySelector(selector)) done((performance.now() - start) / 1000);
            else requestAnimationFrame(look);
        };
        ACTION; look();
    })""".replace("ACTION", action)
    return float(page.evaluate(script, selector))
