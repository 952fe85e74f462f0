"""Groups of learners: made by a teacher, joined by a link, and what the teacher learns of them."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from heddle_runtime.http.egress import SETTING
from playwright.sync_api import Browser, FilePayload, Page, expect
from studio.harness import KEY, PHONE, VIEWS, running
from studio.school import School
from studio.tutor import tutor

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def school(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[School]:
    """A school whose organisation lets teachers read questions."""
    folder: Path = tmp_path_factory.mktemp("groups")
    settings = {"HEDDLE_GATEWAY_API_KEY": KEY, SETTING: "127.0.0.0/8"}
    with tutor() as url, running(folder, browser, **settings) as studio:
        school = School(studio, url)
        stored = studio.client.get("/organizations/uni").json()["settings"]
        stored |= {"retention": {"questions_days": 30}, "chat": {"banner": "Exams on Monday."}}
        body = {"name": "University", "settings": stored}
        insisting = {"allow_failing_providers": True}
        studio.client.put("/organizations/uni", json=body, params=insisting).raise_for_status()
        yield school


def ask(page: Page, url: str, assistant: str, question: str) -> None:
    page.goto(f"{url}/studio/chat/new?assistant={assistant}")
    page.get_by_label("Your question").fill(question)
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Copy the answer")).to_be_visible()


def course(school: School) -> tuple[str, str]:
    """Make a group with a link; return its address and the link."""
    with school.screen(teacher=True) as screen:
        page = screen.page
        screen.open("groups")
        screen.check()
        page.get_by_role("button", name="New group").first.click()
        page.get_by_label("Title").fill("Weaving <b>1</b>")
        page.get_by_role("button", name="Create the group").click()
        page.get_by_label("Add an assistant").select_option(label="Hidden tutor")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("button", name="Save")).to_be_disabled()
        page.get_by_role("button", name="Make a link").click()
        page.get_by_role("button", name="Make a link").click()
        link = page.get_by_label("Link for learners").input_value()
        page.get_by_role("button", name="Add by e-mail").click()
        table: FilePayload = {
            "name": "list.csv",
            "mimeType": "text/csv",
            "buffer": b"Ben;BEN@uni.example\nx;y",
        }
        page.get_by_label("Choose a CSV file").set_input_files([table])
        page.get_by_role("button", name="Add 1 address").click()
        expect(page.get_by_text("1 new learner is in the group.")).to_be_visible()
        expect(page.get_by_text("Fewer than three learners")).to_be_visible()
        screen.settle()
        screen.check()
        return page.url, link


def test_a_course_from_its_first_learner_to_the_questions(school: School) -> None:
    hidden = school.assistant("Hidden tutor")
    school.publish(hidden, published=False)
    address, link = course(school)
    for number in range(3):
        key = school.person(f"learner{number}")
        with school.studio.screen(key=key) as screen:
            page = screen.page
            page.goto(link)
            page.get_by_role("button", name="Join the group").click()
            expect(page.get_by_text("You are in Weaving <b>1</b>.")).to_be_visible()
            screen.check()
            page.get_by_role("link", name="To the assistants").click()
            page.get_by_role("link", name="Hidden tutor").wait_for()
            ask(page, screen.url, hidden, f"What is shed {number}?")
            expect(page.get_by_text("Your teacher can read what you ask")).to_be_visible()
            expect(page.get_by_text("Exams on Monday.")).to_be_visible()
            page.get_by_role("button", name="Close").first.click()
            expect(page.get_by_text("Exams on Monday.")).to_have_count(0)
            screen.check()
    for theme, width in VIEWS:
        with school.screen(teacher=True, theme=theme, width=width) as screen:
            page = screen.page
            page.goto(address)
            expect(page.get_by_text("3 similar questions of 3 learners")).to_be_visible()
            words = page.get_by_role("list", name=re.compile("What is shed"))
            expect(words.get_by_text(re.compile("What is shed"))).to_have_count(3)
            screen.settle()
            screen.check()
            screen.picture(f"group-{theme}-{width}")
            screen.open(f"assistants/{hidden}/insights")
            expect(words.get_by_role("listitem")).to_have_count(3)
            screen.settle()
            screen.check()
            screen.picture(f"insights-{theme}-{width}")
            if width == PHONE:
                first = words.get_by_role("listitem").first
                first.get_by_role("button", name="Add to saved questions").click()
                expect(first.get_by_role("link", name="Saved")).to_be_visible()
                first.get_by_role("link", name="Try it in the editor").click()
                expect(page.get_by_label("Your question")).to_have_value(re.compile("shed"))


def test_a_code_that_is_not_valid_says_what_to_do(school: School) -> None:
    with school.screen() as screen:
        screen.page.goto(f"{screen.url}/studio/chat/join?code=WRONG")
        screen.page.get_by_role("button", name="Join the group").click()
        expect(screen.page.get_by_text("Ask your teacher for a new link.")).to_be_visible()
        screen.check(expected=("404",))
