"""Rubrics in the studio: made, changed, shared and deleted; a conflict loses nothing."""

import copy
import re
from typing import Any

import pytest
from gateway.essays import EXAMPLE
from playwright.sync_api import Page, expect
from studio.harness import VIEWS, Studio

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]


def new_rubric(studio: Studio, title: str) -> str:
    """Create a rubric and return its identifier."""
    body = {"content": EXAMPLE | {"title": title}}
    response = studio.client.post("/rubrics", json=body)
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


def stored(studio: Studio, identifier: str) -> dict[str, Any]:
    """Return a rubric."""
    rubric: dict[str, Any] = studio.client.get(f"/rubrics/{identifier}").json()
    return rubric


def save(page: Page) -> None:
    page.get_by_role("button", name="Save the rubric").click()
    expect(page.get_by_text("The rubric is saved.")).to_be_visible()


@pytest.mark.parametrize(("theme", "width"), VIEWS)
def test_the_screens_are_accessible_and_fit(development: Studio, theme: str, width: int) -> None:
    identifier = new_rubric(development, f"Essay {theme} {width}")
    with development.screen(theme=theme, width=width) as screen:
        screen.open("rubrics")
        expect(screen.page.get_by_role("link", name=f"Essay {theme} {width}")).to_be_visible()
        screen.check()
        screen.open(f"rubrics/{identifier}")
        expect(screen.page.get_by_label("Weight")).to_have_value("100")
        screen.check()
        screen.picture(f"rubric-{theme}-{width}")


def test_a_new_rubric_is_stored(development: Studio) -> None:
    with development.screen() as screen:
        page = screen.page
        screen.open("rubrics")
        page.get_by_role("link", name="New rubric").first.click()
        page.get_by_role("button", name="Save the rubric").wait_for()
        page.get_by_label("Title").fill("Lab report")
        page.get_by_label("Others of the organisation may read it").check()
        page.get_by_label("Name").fill("Method")
        page.get_by_role("button", name="Add a level").click()
        levels = page.get_by_role("list", name="Levels of Method").get_by_role("listitem")
        expect(levels).to_have_count(3)
        for level, label in zip(levels.all(), ("Good", "Fair", "Poor"), strict=True):
            level.get_by_label("Level", exact=True).fill(label)
        levels.first.get_by_label("Score").fill("2,5")
        save(page)
        page.wait_for_url(re.compile(r"/rubrics/(?!new)"))
        identifier = page.url.rpartition("/")[2].removesuffix("?saved")
        screen.check()
    rubric = stored(development, identifier)
    assert rubric["public"]
    assert rubric["content"]["title"] == "Lab report"
    (criterion,) = rubric["content"]["criteria"]
    assert [(each["label"], each["score"]) for each in criterion["levels"]] == [
        *(("Good", 2.5), ("Fair", 1), ("Poor", 0)),
    ]


def test_what_the_form_does_not_show_stays(development: Studio) -> None:
    content = copy.deepcopy(EXAMPLE) | {"gradeLevel": "secondary", "metadata": {"author": "ann"}}
    content["criteria"][0]["note"] = "kept"
    created = development.client.post("/rubrics", json={"content": content}).json()
    with development.screen() as screen:
        screen.open(f"rubrics/{created['id']}")
        screen.page.get_by_label("Title").fill("Renamed")
        save(screen.page)
        screen.page.get_by_label("Title").fill("Not saved yet")
        expect(screen.page.get_by_text("The rubric is saved.")).to_have_count(0)
    after = stored(development, created["id"])["content"]
    assert after["title"] == "Renamed"
    assert after["gradeLevel"] == "secondary"
    assert after["metadata"]["author"] == "ann"
    assert after["criteria"] == content["criteria"]


def test_faults_are_beside_their_fields_and_nothing_is_lost(development: Studio) -> None:
    identifier = new_rubric(development, "Faulty")
    with development.screen() as screen:
        page = screen.page
        screen.open(f"rubrics/{identifier}")
        page.get_by_label("Weight").fill("-1")
        page.get_by_role("button", name="Save the rubric").click()
        expect(page.get_by_label("Weight")).to_have_attribute("aria-invalid", "true")
        page.get_by_label("Highest score").fill("ten")
        expect(page.get_by_text("This is not a number.")).to_be_visible()
        page.reload()
        expect(page.get_by_label("Weight")).to_have_value("-1")
        page.get_by_label("Weight").fill("80")
        expect(page.get_by_text("The weights add up to 80")).to_be_visible()
        save(page)
        screen.check(expected=("400",))
    assert stored(development, identifier)["content"]["criteria"][0]["weight"] == 80


def test_a_rubric_that_somebody_else_has_saved_is_not_overwritten(development: Studio) -> None:
    identifier = new_rubric(development, "Shared")
    with development.screen() as screen:
        page = screen.page
        screen.open(f"rubrics/{identifier}")
        page.get_by_label("Title").fill("Mine")
        body = {"content": EXAMPLE | {"title": "Theirs"}}
        development.client.put(f"/rubrics/{identifier}", json=body).raise_for_status()
        page.get_by_role("button", name="Save the rubric").click()
        expect(page.get_by_text("Your text is still here")).to_be_visible()
        expect(page.get_by_label("Title")).to_have_value("Mine")
        page.get_by_role("button", name="Show theirs and drop mine").click()
        expect(page.get_by_label("Title")).to_have_value("Theirs")
        screen.check(expected=("409",))


def test_a_rubric_is_deleted_after_its_name_was_typed(development: Studio) -> None:
    new_rubric(development, "Unwanted")
    with development.screen() as screen:
        page = screen.page
        screen.open("rubrics")
        page.get_by_role("button", name="Delete Unwanted").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Type").fill("Unwanted")
        dialog.get_by_role("button", name="Delete", exact=True).click()
        expect(page.get_by_text("Unwanted is deleted.")).to_be_visible()
        expect(page.get_by_role("link", name="Unwanted")).to_have_count(0)
        screen.check()


def test_an_edit_that_outlived_a_reload_does_not_overwrite_another_save(
    development: Studio,
) -> None:
    identifier = new_rubric(development, "Reloaded")
    with development.screen() as screen:
        page = screen.page
        screen.open(f"rubrics/{identifier}")
        page.get_by_label("Title").fill("Mine")
        body = {"content": EXAMPLE | {"title": "Theirs"}}
        development.client.put(f"/rubrics/{identifier}", json=body).raise_for_status()
        page.reload()
        expect(page.get_by_label("Title")).to_have_value("Mine")
        page.get_by_role("button", name="Save the rubric").click()
        expect(page.get_by_text("Your text is still here")).to_be_visible()
        screen.check(expected=("409",))
    assert stored(development, identifier)["title"] == "Theirs"
