"""A long answer: 200 events of a tool and a trace of a megabyte slow nothing down."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect
from studio.editing import new_assistant, open_editor
from studio.harness import Studio, running
from studio.speed import MAX_SECONDS, seconds_until_painted

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
EVENTS = 190
CHARACTERS = 350_000
TOOL = f"""
import asyncio
from heddle_tools_service.sdk import ToolResult, tool

@tool("talkative", title="Talkative", slot="talk")
async def talkative(call):
    "Reports much and returns much."
    for number in range({EVENTS}):
        call.status(f"step {{number}} of a long piece of work")
        await asyncio.sleep(0.01)
    return ToolResult("A line of a long text.\\n" * {CHARACTERS // 23})
"""
ASSISTANT = {
    "prompt_template": "{first}\n{second}\n{third}\n{user_input}",
    "tools": [
        {"type": "talkative", "id": name, "slot": name} for name in ("first", "second", "third")
    ],
}
TYPING = """const input = document.querySelector("[data-field=title]");
    input.value += "a";
    input.dispatchEvent(new Event("input", {bubbles: true}));"""
STEP = """[...document.querySelectorAll("article ol button[aria-expanded]")][1].click();"""
MARK = """document.querySelector("article ul button[aria-pressed]").click();"""
WHOLE = """[...document.querySelectorAll("article button")]
    .find((each) => each.textContent.includes("Show long texts in full")).click();"""


@pytest.fixture(scope="module")
def long_answers(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Studio]:
    """A Heddle with a tool that reports and returns much."""
    folder = tmp_path_factory.mktemp("long")
    (folder / "own_tools").mkdir()
    (folder / "own_tools" / "talkative.py").write_text(TOOL)
    with running(folder, browser, HEDDLE_TOOLS_PLUGINS_DIR=str(folder / "own_tools")) as studio:
        yield studio


@pytest.mark.alone
def test_many_events_and_a_long_trace_do_not_delay_the_screen(long_answers: Studio) -> None:
    identifier = new_assistant(long_answers, "long", **ASSISTANT)
    with long_answers.screen() as screen:
        page = screen.page
        open_editor(screen, identifier)
        page.get_by_label("Your question").fill("What is long?")
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_text("step 20 of a long piece of work").first).to_be_attached()
        during = [seconds_until_painted(page, TYPING) for _ in range(5)]
        opener = page.get_by_role("button", name="How it came about")
        opener.wait_for(timeout=60_000)
        trace = """[...document.querySelectorAll("article button[aria-expanded]")]
            .find((each) => each.textContent.includes("How it came about")).click();"""
        opening = seconds_until_painted(page, trace)
        page.get_by_role("heading", name="What happened").wait_for()
        durations = {
            "typing while events come": sorted(during)[2],
            "opening the trace": opening,
            "opening a step": min(seconds_until_painted(page, STEP) for _ in range(3)),
            "choosing a text": min(seconds_until_painted(page, MARK) for _ in range(3)),
            "all of the prompt": seconds_until_painted(page, WHOLE),
            "typing afterwards": min(seconds_until_painted(page, TYPING) for _ in range(3)),
        }
    assert max(durations.values()) < MAX_SECONDS, durations


def test_an_answer_is_stopped_and_repeated(long_answers: Studio) -> None:
    identifier = new_assistant(long_answers, "stopped", **ASSISTANT)
    with long_answers.screen() as screen:
        page = screen.page
        open_editor(screen, identifier)
        page.get_by_label("Your question").fill("What is long?")
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_text("step 20 of a long piece of work").first).to_be_attached()
        stopped = page.get_by_role("article").get_by_text("You stopped the answer.")
        page.get_by_role("button", name="Stop").click()
        expect(stopped).to_be_visible()
        page.reload()
        expect(stopped).to_be_visible()
        page.get_by_role("button", name="Ask again").click()
        page.get_by_role("button", name="How it came about").wait_for(timeout=60_000)
        expect(stopped).to_have_count(0)
        screen.check()
