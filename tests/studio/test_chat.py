"""The chat of learners, from the first visit to a deleted conversation, before a real Heddle."""

import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from heddle_gateway.studio_pages import FOLDER
from heddle_runtime.http.egress import SETTING
from knowledge.pages.pdfs import pdf
from playwright.sync_api import Browser, FilePayload, Page, expect
from studio.cut_line import CutLine
from studio.harness import KEY, LANGUAGES, PHONE, ROOT, VIEWS, Screen, running
from studio.school import SHUTTLE, School
from studio.speed import MAX_SECONDS, seconds_until_painted
from studio.tutor import REPORTED, tutor

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
MAX_FIRST_SCREEN_BYTES = 90_000
PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGA"
    "WjR9awAAAABJRU5ErkJggg=="
)
TYPING = """const box = document.querySelector("form textarea");
    box.value += "a";
    box.dispatchEvent(new Event("input", {bubbles: true}));"""


@pytest.fixture(scope="module")
def school(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[School]:
    """A school whose provider is the tutor."""
    folder: Path = tmp_path_factory.mktemp("school")
    settings = {"HEDDLE_GATEWAY_API_KEY": KEY, SETTING: "127.0.0.0/8"}
    with tutor() as url, running(folder, browser, **settings) as studio:
        yield School(studio, url)


def ask(page: Page, question: str) -> None:
    page.get_by_label("Your question").fill(question)
    page.keyboard.press("Enter")


def begin(screen: Screen, assistant: str) -> Page:
    """Open a new conversation."""
    screen.page.goto(f"{screen.url}/studio/chat/new?assistant={assistant}")
    screen.page.get_by_role("button", name="What is a heddle?").wait_for()
    return screen.page


def stored(page: Page) -> None:
    """Wait until an answer is stored."""
    expect(page.get_by_role("button", name="Send")).to_be_visible()
    expect(page.get_by_role("button", name="Copy the answer").last).to_be_visible()


@pytest.mark.parametrize(("theme", "width"), VIEWS)
def test_every_state_is_accessible_and_fits(school: School, theme: str, width: int) -> None:
    with school.screen(theme=theme, width=width) as screen:
        page = screen.page
        screen.open("chat")
        page.get_by_role("link", name="Weaving").wait_for()
        screen.check()
        screen.picture(f"chat-home-{theme}-{width}")
        if width == PHONE:
            page.get_by_role("button", name="Conversations").click()
            page.get_by_role("link", name="New conversation").wait_for()
            screen.check()
            page.keyboard.press("Escape")
        page.get_by_role("link", name="Weaving").click()
        page.get_by_role("button", name="Something rich").wait_for()
        screen.check()
        page.get_by_role("button", name="Something rich").click()
        expect(page.locator(".katex").first).to_be_visible()
        expect(page.locator(".hljs-keyword").first).to_be_visible()
        stored(page)
        screen.check(expected=(REPORTED,))
        screen.picture(f"chat-{theme}-{width}")
        page.get_by_role("button", name="Not helpful").click()
        page.get_by_label("What about it?").fill("Too short.")
        screen.check(expected=(REPORTED,))
        ask(page, "short of space")
        expect(page.get_by_role("button", name="Continue")).to_be_visible()
        ask(page, "fail")
        expect(page.get_by_role("button", name="Try again")).to_be_visible()
        page.get_by_role("button", name="Manage this conversation").click()
        expect(page.get_by_text("Kept until")).to_be_visible()
        screen.check(expected=(REPORTED,))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_chat_speaks_the_language_of_the_browser(school: School, language: str) -> None:
    texts = json.loads((ROOT / f"studio/src/lib/i18n/chat/{language}.json").read_text())
    with school.screen(language=language) as screen:
        screen.open("chat")
        expect(screen.page.get_by_role("heading", name=texts["chat.assistants"])).to_be_visible()


def test_a_rich_answer_is_set_and_runs_nothing(school: School) -> None:
    with school.screen() as screen:
        page = begin(screen, school.tutor)
        ask(page, "rich")
        stored(page)
        answer = page.get_by_role("article")
        expect(answer.locator(".katex")).to_have_count(2)
        expect(answer.locator("td[align=right]")).to_have_css("text-align", "right")
        expect(answer).to_contain_text("☑ read")
        expect(answer.get_by_role("checkbox")).to_have_count(0)
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        answer.get_by_role("button", name="Copy", exact=True).click()
        expect(answer.get_by_role("button", name="Copied")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()").startswith("def area(width")
        assert page.title() != "taken"
        assert answer.locator("a, script, [onerror], [style*=expression]").count() == 0
        screen.check(expected=(REPORTED,))


def test_a_source_opens_at_its_page_also_after_a_reload(school: School) -> None:
    with school.screen(teacher=True) as screen:
        page = begin(screen, school.reader)
        ask(page, "rich: what carries the weft?")
        stored(page)
        page.reload()
        page.get_by_role("button", name="Source 1").click()
        drawer = page.get_by_role("complementary")
        expect(drawer.locator("mark")).to_have_text(SHUTTLE)
        expect(drawer.get_by_role("img", name="Picture of page 2")).to_be_visible()
        page.get_by_text("Searched documents").click()
        expect(page.get_by_text(re.compile(r"^Documents \d"))).to_be_visible()
        screen.settle()
        screen.check(expected=(REPORTED,))
        page.keyboard.press("Escape")
        expect(drawer).to_have_count(0)
    with school.screen() as screen:
        page = begin(screen, school.reader)
        ask(page, "What carries the weft?")
        stored(page)
        page.get_by_role("list", name="Sources").get_by_role("button").first.click()
        drawer = page.get_by_role("complementary")
        expect(drawer.locator("mark")).to_have_text(SHUTTLE)
        # Learners may not read the collection, but see the page that their answer cites.
        expect(drawer.get_by_role("img", name="Picture of page 2")).to_be_visible()
        screen.settle()
        screen.check(expected=(REPORTED,))


def test_a_reload_and_a_lost_connection_find_the_answer_again(school: School) -> None:
    line = CutLine(urlsplit(school.studio.url).port or 0)
    with line.running():
        near = replace(school.studio, url=f"http://127.0.0.1:{line.port}")
        key = school.learner["authorization"].removeprefix("Bearer ")
        with near.screen(key=key) as screen:
            page = begin(screen, school.tutor)
            ask(page, "slowly")
            expect(page.get_by_role("article").get_by_text("word5")).to_be_visible()
            page.reload()
            expect(page.get_by_role("article").get_by_text("word12")).to_be_visible()
            line.cut()
            expect(page.get_by_text("The connection was lost")).to_be_visible()
            line.mend()
            expect(page.get_by_role("article").get_by_text("word59")).to_be_visible(timeout=20_000)
            stored(page)
            expect(page.get_by_role("article")).to_have_count(1)
            expect(page.get_by_text("The connection was lost")).to_have_count(0)
            screen.check(expected=("ERR_",))


def test_an_answer_is_stopped_and_its_beginning_stays(school: School) -> None:
    with school.screen() as screen:
        page = begin(screen, school.tutor)
        ask(page, "slowly")
        expect(page.get_by_role("article").get_by_text("word5")).to_be_visible()
        page.get_by_role("button", name="Stop").click()
        article = page.get_by_role("article")
        expect(article.get_by_text("You stopped the answer.")).to_be_visible()
        expect(page.get_by_role("button", name="Send")).to_be_visible()
        page.reload()
        expect(article.get_by_text("You stopped the answer.")).to_be_visible()
        expect(article).to_contain_text("word5")
        screen.check()


def test_a_question_is_edited_and_versions_stay(school: School) -> None:
    with school.screen() as screen:
        page = begin(screen, school.tutor)
        ask(page, "First words")
        stored(page)
        page.get_by_role("button", name="Edit the question").click()
        page.get_by_role("textbox", name="Edit the question").fill("Other words")
        page.get_by_role("button", name="Send").first.click()
        expect(page.get_by_role("article").get_by_text("You asked: Other words")).to_be_visible()
        page.get_by_role("button", name="Previous version").click()
        expect(page.get_by_role("article").get_by_text("You asked: First words")).to_be_visible()
        stored(page)
        page.get_by_role("button", name="Ask again").click()
        expect(page.get_by_text("3 / 3")).to_be_visible()
        page.reload()
        expect(page.get_by_text("3 / 3")).to_be_visible()
        screen.check()


def test_pictures_are_added_and_other_files_refused(school: School) -> None:
    with school.screen() as screen:
        page = begin(screen, school.tutor)
        page.evaluate(
            """([data]) => {
                const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
                const clipboardData = new DataTransfer();
                clipboardData.items.add(new File([bytes], "loom.png", {type: "image/png"}));
                clipboardData.items.add(new File(["x"], "loom.exe"));
                document.querySelector("form textarea").dispatchEvent(
                    new ClipboardEvent("paste", {clipboardData, bubbles: true, cancelable: true}));
            }""",
            [PNG],
        )
        expect(page.get_by_role("alert")).to_contain_text("loom.exe")
        expect(page.get_by_role("button", name="Remove loom.png")).to_be_visible()
        screen.check()
        ask(page, "What is this?")
        stored(page)
        expect(page).to_have_url(re.compile("conv_"))
        expect(page.get_by_role("article")).to_contain_text("[image_url]")
        page.reload()
        expect(page.get_by_role("img", name="Picture of the question")).to_be_visible()


def test_documents_become_text_of_the_conversation(school: School) -> None:
    docx: FilePayload = {"name": "torn.docx", "mimeType": "", "buffer": b"PK\3\4 torn"}
    large: FilePayload = {"name": "large.pdf", "mimeType": "", "buffer": b"x" * 10_000_001}
    loom: FilePayload = {"name": "loom.pdf", "mimeType": "", "buffer": pdf("Sheds.", SHUTTLE)}
    with school.screen() as screen:
        page = begin(screen, school.reader)
        chooser = page.locator("input[type=file]")
        chooser.set_input_files([loom, docx])
        ask(page, "What carries it?")
        expect(page.get_by_role("alert")).to_contain_text("torn.docx cannot be read")
        expect(page.get_by_label("Your question")).to_have_value("What carries it?")
        screen.check(expected=("400",))
        page.get_by_role("button", name="Remove torn.docx").click()
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Send").click()
        stored(page)
        files = page.get_by_role("list", name="Files of the question")
        for _ in range(2):
            expect(files).to_contain_text("loom.pdf")
            expect(page.get_by_role("article")).to_contain_text(SHUTTLE)
            page.reload()
        conversation = page.url.rsplit("/", 1)[1]
        path = f"/v1/conversations/{conversation}/items"
        items = school.studio.client.get(path, headers=school.learner).json()["data"]
        content = next(each["content"] for each in items if each.get("role") == "user")
        assert content[1]["file_data"].startswith("data:text/")
        chooser.set_input_files([large])
        expect(page.get_by_role("alert")).to_contain_text("at most 10 MB")


def test_a_conversation_is_searched_changed_saved_and_deleted(school: School) -> None:
    with school.screen() as screen:
        page = begin(screen, school.tutor)
        ask(page, "The word quetzalcoatlus")
        stored(page)
        page.get_by_role("button", name="Helpful", exact=True).click()
        page.get_by_label("What about it?").fill("Clear.")
        page.get_by_role("article").get_by_role("button", name="Send").click()
        page.get_by_role("link", name="New conversation").click()
        page.get_by_label("Search your conversations").fill("QUETZALCÓATLUS asked")
        rail = page.get_by_role("navigation", name="Conversations")
        expect(rail.get_by_role("link")).to_have_count(1)
        rail.get_by_role("link").click()
        helpful = page.get_by_role("button", name="Helpful", exact=True)
        expect(helpful).to_have_attribute("aria-pressed", "true")
        page.get_by_label("Search your conversations").fill("")
        page.get_by_role("button", name="Manage this conversation").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("button", name="Pin").click()
        expect(rail.get_by_role("heading", name="Pinned")).to_be_visible()
        for name, beginning in (("Save as text", "# The word"), ("Save as JSON", "{")):
            with page.expect_download() as download:
                dialog.get_by_role("button", name=name).click()
            assert Path(download.value.path()).read_text().startswith(beginning)
        dialog.get_by_label("Title").fill("Pterosaurs")
        dialog.get_by_role("button", name="Rename").click()
        expect(rail.get_by_role("link", name="Pterosaurs")).to_be_visible()
        address = page.url
        page.get_by_role("button", name="Manage this conversation").click()
        dialog.get_by_role("button", name="Delete", exact=True).click()
        dialog.get_by_role("button", name="Delete for good").click()
        expect(page).to_have_url(re.compile("/chat$"))
        expect(rail.get_by_role("link", name="Pterosaurs")).to_have_count(0)
        page.goto(address)
        expect(page.get_by_text("This page does not exist")).to_be_visible()


def test_a_draft_outlives_a_reload_and_lines_break(school: School) -> None:
    with school.screen() as screen:
        page = begin(screen, school.tutor)
        page.get_by_label("Your question").press_sequentially("one")
        page.keyboard.press("Shift+Enter")
        page.get_by_label("Your question").press_sequentially("two")
        page.reload()
        expect(page.get_by_label("Your question")).to_have_value("one\ntwo")
        assert page.get_by_role("article").count() == 0


def test_an_assistant_that_is_withdrawn_leaves_the_conversation_readable(school: School) -> None:
    short = school.assistant("Short term")
    with school.screen() as screen:
        page = begin(screen, short)
        ask(page, "Hello")
        stored(page)
        school.publish(short, published=False)
        page.reload()
        expect(page.get_by_text("This assistant is not available")).to_be_visible()
        expect(page.get_by_role("article").get_by_text("You asked: Hello")).to_be_visible()
        expect(page.get_by_label("Your question")).to_have_count(0)
        screen.check(expected=("404",))


def test_an_organisation_that_stores_nothing_has_a_chat(school: School) -> None:
    settings = school.studio.client.get("/organizations/uni").json()["settings"]
    body = {"name": "University", "settings": {**settings, "retention": {"conversations_days": 0}}}
    insisting = {"allow_failing_providers": True}
    try:
        school.studio.client.put("/organizations/uni", json=body, params=insisting)
        with school.screen() as screen:
            page = begin(screen, school.tutor)
            ask(page, "Hello")
            expect(page.get_by_role("article").get_by_text("You asked: Hello")).to_be_visible()
            expect(page.get_by_text("Conversations are not stored here")).to_be_visible()
            ask(page, "slowly")
            expect(page.get_by_role("article").get_by_text("word5")).to_be_visible()
            page.get_by_role("button", name="Stop").click()
            stopped = page.get_by_role("article").get_by_text("You stopped the answer.")
            expect(stopped).to_be_visible()
            screen.check(expected=("501",))
    finally:
        body["settings"] = settings
        school.studio.client.put("/organizations/uni", json=body, params=insisting)


def test_the_first_screen_of_the_chat_is_small(school: School) -> None:
    with school.screen() as screen:
        loaded: set[str] = set()
        screen.page.on("requestfinished", lambda request: loaded.add(request.url))
        screen.open("chat")
        files = [FOLDER / url.partition("/studio/")[2] for url in loaded if "/_app/" in url]
        sizes = {file.name: len(gzip.compress(file.read_bytes(), 9)) for file in files}
    assert files
    assert sum(sizes.values()) <= MAX_FIRST_SCREEN_BYTES, (sum(sizes.values()), sizes)


@pytest.mark.alone
def test_a_long_conversation_stays_fast(school: School) -> None:
    client, headers = school.studio.client, school.learner
    conversation = client.post("/v1/conversations", json={}, headers=headers).json()["id"]
    pair = [
        {"role": "user", "content": "What is a heddle?"},
        {"role": "assistant", "content": "It holds $n$ **threads**.\n\n- one\n- two\n" * 5},
    ]
    for _ in range(50):
        client.post(
            f"/v1/conversations/{conversation}/items", json={"items": pair * 10}, headers=headers
        ).raise_for_status()
    with school.screen() as screen:
        page = screen.page
        page.goto(f"{screen.url}/studio/chat/{conversation}")
        expect(page.get_by_role("article").last).to_contain_text("threads")
        screen.settle()
        assert page.get_by_role("article").count() <= 60
        scroll = """document.querySelector("[role=region]").scrollBy(0, -700)"""
        durations = {
            "typing": min(seconds_until_painted(page, TYPING) for _ in range(3)),
            "scrolling": min(seconds_until_painted(page, scroll) for _ in range(3)),
        }
    assert max(durations.values()) < MAX_SECONDS, durations
