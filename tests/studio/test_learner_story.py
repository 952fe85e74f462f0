"""A learner from the link of a group to a deleted conversation, and what the teacher sees of it.

Each in another language, with another size and other colours, and with the keyboard only.
"""

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from heddle_runtime.http.egress import SETTING
from knowledge.pages.pdfs import pdf
from playwright.sync_api import Browser, expect
from studio.cut_line import CutLine
from studio.harness import KEY, Studio, running
from studio.keyboard import Keyboard
from studio.school import SHUTTLE, School
from studio.tutor import REPORTED, tutor

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(600)]
PHONE, DESKTOP = 390, 1440
PEOPLE = (
    ("en", "light", DESKTOP),
    ("es", "dark", PHONE),
    ("ca", "light", PHONE),
    ("eu", "dark", DESKTOP),
)
CLASSMATES = ("ada", "mia")
FIRST = "rich: what carries the weft through the shed? quetzalcoatlus"


@pytest.fixture(scope="module")
def school(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[School]:
    """A school whose provider is the tutor."""
    folder: Path = tmp_path_factory.mktemp("story")
    settings = {"HEDDLE_GATEWAY_API_KEY": KEY, SETTING: "127.0.0.0/8"}
    with tutor() as url, running(folder, browser, **settings) as studio:
        yield School(studio, url)


@dataclass
class Course:
    """A group with an assistant for its members alone."""

    school: School
    assistant: str
    group: str
    link: str
    classmates: list[str]

    def ask(self, key: str, text: str, *, informed: bool) -> None:
        """Ask as a classmate does."""
        client, headers = self.school.studio.client, {"authorization": f"Bearer {key}"}
        created = client.post("/v1/conversations", json={}, headers=headers).json()
        body = {
            "model": f"lamb_assistant.{self.assistant}",
            "input": text,
            "conversation": {"id": created["id"], "informed": informed},
        }
        client.post("/v1/responses", json=body, headers=headers).raise_for_status()

    def let_teachers_read(self, days: int) -> None:
        """Say for how long teachers may read questions; 0: not at all."""
        client = self.school.studio.client
        settings = client.get("/organizations/uni").json()["settings"]
        settings["retention"] = {"questions_days": days} if days else {}
        body = {"name": "University", "settings": settings}
        options = {"allow_failing_providers": True}
        client.put("/organizations/uni", json=body, params=options).raise_for_status()
        headers = {"authorization": f"Bearer {self.classmates[0]}"}
        while client.get("/v1/me", headers=headers).json()["chat"]["questions_read"] != bool(days):
            time.sleep(0.1)  # services know settings for some seconds


def begin(school: School, language: str) -> Course:
    """Make a group with a link and two classmates."""
    client, headers = school.studio.client, school.teacher
    search = {"type": "simple_rag", "config": {"collections": [school.store]}}
    assistant = school.assistant(
        f"Looms {language}", tools=[search], prompt_template="{context}\n{user_input}"
    )
    school.publish(assistant, published=False)
    body = {"title": f"Weaving {language}", "assistants": [assistant]}
    group = client.post("/groups", json=body, headers=headers).json()["id"]
    code = client.post(f"/groups/{group}/code", json={}, headers=headers).json()["code"]
    keys = [school.person(f"{name}_{language}") for name in CLASSMATES]
    emails = [f"{name}_{language}@uni.example" for name in CLASSMATES]
    added = client.post(f"/groups/{group}/members", json={"emails": emails}, headers=headers)
    added.raise_for_status()
    return Course(school, assistant, group, f"/studio/chat/join?code={code}", keys)


@contextmanager
def person(
    studio: Studio, key: str, view: tuple[str, str, int], *, later: timedelta = timedelta()
) -> Iterator[Keyboard]:
    """Open a window of a user of the keyboard."""
    language, theme, width = view
    with studio.screen(theme=theme, width=width, language=language, key=key) as screen:
        if later:
            screen.page.clock.set_system_time(datetime.now(UTC) + later)
        yield Keyboard(screen, language)


def stored(keys: Keyboard) -> None:
    """Wait until an answer is stored."""
    expect(keys.button("answer.send")).to_be_visible()
    expect(keys.button("chat.copy").last).to_be_attached()


def seen(keys: Keyboard, name: str, view: tuple[str, str, int]) -> None:
    """Check a screen and take its picture."""
    keys.screen.settle()
    keys.screen.check(expected=(REPORTED, "ERR_"))
    keys.screen.picture(f"story-{view[0]}-{name}")


def joins_and_asks(keys: Keyboard, course: Course, view: tuple[str, str, int], loom: Path) -> str:
    """Join by the link and ask with a PDF attached; return the address of the conversation."""
    page = keys.page
    page.goto(f"{keys.screen.url}{course.link}")
    keys.press(keys.button("chat.join"))
    expect(page.get_by_text(keys.text("chat.join.done", name=f"Weaving {view[0]}"))).to_be_visible()
    seen(keys, "joined", view)
    keys.press(keys.link("chat.join.go"))
    keys.press(page.get_by_role("link", name=f"Looms {view[0]}"))
    question = keys.field("answer.question")
    keys.give(keys.button("answer.attach"), [loom])
    expect(keys.button("answer.remove", name="loom.pdf")).to_be_visible()
    keys.type(question, FIRST)
    keys.press(question)
    stored(keys)
    expect(page.locator(".katex").first).to_be_visible()
    expect(page.get_by_role("list", name=keys.text("answer.files"))).to_contain_text("loom.pdf")
    seen(keys, "answered", view)
    keys.press(keys.button("answer.source", number=1).first)
    drawer = page.get_by_role("complementary")
    expect(drawer.locator("mark")).to_have_text(SHUTTLE)
    seen(keys, "source", view)
    page.keyboard.press("Escape")
    expect(drawer).to_have_count(0)
    return page.url


def loses_the_connection(keys: Keyboard, line: CutLine, view: tuple[str, str, int]) -> None:
    """Lose the connection in the middle of an answer, and find it whole after a reload."""
    page, question = keys.page, keys.field("answer.question")
    keys.type(question, "slowly")
    keys.press(question)
    answer = page.get_by_role("article").last
    expect(answer.get_by_text("word5")).to_be_visible()
    line.cut()
    expect(page.get_by_text(keys.text("chat.lost"))).to_be_visible()
    seen(keys, "lost", view)
    line.mend()
    page.reload()
    expect(page.get_by_role("article").last.get_by_text("word59")).to_be_visible()
    stored(keys)


def edits_and_rates(keys: Keyboard) -> None:
    """Ask the last question in other words, and rate the answer."""
    page = keys.page
    keys.press(keys.button("chat.edit").last)
    box = page.get_by_role("textbox", name=keys.text("chat.edit"))
    expect(box).to_be_focused()
    keys.type(box, "Other words")
    keys.press(keys.button("answer.send").first)
    expect(page.get_by_text("2 / 2")).to_be_visible()
    stored(keys)
    expect(page.get_by_role("article").last).to_contain_text("You asked:")
    keys.press(keys.button("chat.helpful").last)
    keys.type(keys.field("chat.word"), "Clear.")
    keys.press(page.get_by_role("article").get_by_role("button", name=keys.text("chat.word.send")))
    expect(keys.field("chat.word")).to_have_count(0)


def finds_saves_and_deletes(keys: Keyboard, address: str, view: tuple[str, str, int]) -> None:
    """Find the conversation a day later, save it, and delete it."""
    page = keys.page
    keys.screen.open("chat")
    if view[2] == PHONE:
        keys.press(keys.button("chat.conversations"))
    expect(page.get_by_role("heading", name=keys.text("chat.period.yesterday"))).to_be_visible()
    keys.type(keys.field("chat.search"), "QUETZALCÓATLUS")
    rail = page.get_by_role("navigation", name=keys.text("chat.conversations"))
    expect(rail.get_by_role("link")).to_have_count(1)
    seen(keys, "found", view)
    keys.press(rail.get_by_role("link"))
    expect(page.get_by_role("article").first).to_be_visible()
    keys.press(keys.button("chat.manage"))
    dialog = page.get_by_role("dialog")
    seen(keys, "managed", view)
    for key, beginning in (("chat.export.text", "# "), ("chat.export.json", "{")):
        with page.expect_download() as download:
            keys.press(dialog.get_by_role("button", name=keys.text(key)))
        text = Path(download.value.path()).read_text()
        assert text.startswith(beginning)
        assert "quetzalcoatlus" in text
    keys.press(dialog.get_by_role("button", name=keys.text("delete"), exact=True))
    keys.press(dialog.get_by_role("button", name=keys.text("chat.delete")))
    expect(page).to_have_url(re.compile("/chat$"))
    page.goto(address)
    expect(page.get_by_role("article")).to_have_count(0)
    keys.screen.settle()


def teacher_sees(keys: Keyboard, course: Course, view: tuple[str, str, int], *, texts: str) -> None:
    """See the counts of a group, and the texts that are readable."""
    page = keys.page
    keys.screen.open(f"groups/{course.group}")
    counts = page.locator("dl").filter(has_text=keys.text("insights.learners"))
    expect(counts).to_be_visible()
    if texts:
        expect(page.get_by_text(re.compile(texts)).last).to_be_visible()
        expect(page.get_by_text("quetzalcoatlus")).to_have_count(0)
    else:
        expect(page.get_by_text(keys.text("insights.words.off"))).to_be_visible()
    keys.press(keys.link("groups.asked"))
    expect(page.get_by_role("heading", name=keys.text("insights.title"))).to_be_in_viewport()
    page.get_by_role("heading", name=keys.text("insights.words")).scroll_into_view_if_needed()
    seen(keys, f"teacher-{'reads' if texts else 'counts'}", view)


@pytest.mark.parametrize("view", PEOPLE, ids=[each[0] for each in PEOPLE])
def test_a_learner_and_a_teacher(
    school: School, view: tuple[str, str, int], tmp_path: Path
) -> None:
    course = begin(school, view[0])
    course.let_teachers_read(0)
    teacher = school.teacher["authorization"].removeprefix("Bearer ")
    learner = school.person(f"leo_{view[0]}")
    loom = tmp_path / "loom.pdf"
    loom.write_bytes(pdf("Sheds.", SHUTTLE))
    line = CutLine(urlsplit(school.studio.url).port or 0)
    with line.running():
        near = replace(school.studio, url=f"http://127.0.0.1:{line.port}")
        with person(near, learner, view) as keys:
            address = joins_and_asks(keys, course, view, loom)
            loses_the_connection(keys, line, view)
            edits_and_rates(keys)
            assert not keys.page.get_by_text(keys.text("chat.told")).count()
    for key in course.classmates:
        course.ask(key, "When is the exam?", informed=False)
    with person(school.studio, teacher, view) as keys:
        teacher_sees(keys, course, view, texts="")
    address = f"{school.studio.url}{urlsplit(address).path}"
    with person(school.studio, learner, view, later=timedelta(days=1)) as keys:
        finds_saves_and_deletes(keys, address, view)

    course.let_teachers_read(30)
    with person(school.studio, learner, view) as keys:
        page = keys.page
        page.goto(f"{school.studio.url}/studio/chat/new?assistant={course.assistant}")
        expect(page.get_by_text(keys.text("chat.told"))).to_be_visible()
        keys.type(keys.field("answer.question"), "On which day is the exam?")
        keys.press(keys.field("answer.question"))
        stored(keys)
        seen(keys, "told", view)
    for key in course.classmates:
        course.ask(key, "When is the exam?", informed=True)
    with person(school.studio, teacher, view) as keys:
        teacher_sees(keys, course, view, texts="On which day is the exam|When is the exam")
    questions = school.studio.client.get(f"/groups/{course.group}/insights/questions").json()
    assert json.dumps(questions).count("the exam?") == len(CLASSMATES) + 1
    assert [each["learners"] for each in questions["similar"]] == [3]
