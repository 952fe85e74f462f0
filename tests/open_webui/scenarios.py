"""Open WebUI in Chromium, with the settings of the compose file: what its users see.

`make test-open-webui` runs this file. The other commands do not collect it.
"""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from open_webui import heddle as stack
from open_webui.heddle import EXCERPT, QUESTION, SHED, TREATY, Heddle, heddle
from open_webui.model import ANSWER, TITLE
from open_webui.server import OpenWebUI, open_webui
from patience import until
from playwright.async_api import Browser, Page, async_playwright, expect

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]
CHROMIUM = shutil.which("chromium") or "chromium"
_PICTURES = "#messages-container img[src*='/files/'], #messages-container img[src*='/pictures/']"
_BROKEN = "Image unavailable"


@dataclass
class Desk:
    """A user at Open WebUI."""

    heddle: Heddle
    webui: OpenWebUI
    page: Page

    async def ask(self, assistant: str, text: str = QUESTION, *, file: Path | None = None) -> None:
        """Ask in a new chat."""
        await self.page.goto(f"{self.webui.url}/?models=lamb_assistant.file-{assistant}")
        await expect(self.page.locator("#chat-input")).to_be_visible()
        if file is not None:
            await self.page.locator("input[type=file]").first.set_input_files(file)
            await expect(self.page.get_by_text(file.name)).to_be_visible()
            await asyncio.sleep(2)  # until the file is read, which the page does not show
        await self.say(text)

    async def say(self, text: str) -> None:
        await self.page.locator("#chat-input").click()
        await self.page.keyboard.type(text)
        await self.page.keyboard.press("Enter")

    async def see(self, text: str, count: int = 1) -> None:
        await expect(self.messages.get_by_text(text)).to_have_count(count)
        await expect(self.messages.get_by_text(text).last).to_be_visible()

    async def finished(self, answers: int = 1) -> None:
        """Wait for the buttons below complete answers."""
        buttons = self.messages.get_by_role("button", name="Good Response")
        await expect(buttons).to_have_count(answers)

    async def reload(self) -> None:
        await self.page.reload()
        await expect(self.messages).to_be_visible()

    async def open_source(self, name: str, *, of: int = 1) -> Any:
        """Open the window of a source, and return it."""
        await self.messages.get_by_text(f"{of} Source{'s' * (of > 1)}", exact=True).click()
        await self.messages.locator("[id^=source-]").filter(has_text=name).click()
        return self.page.get_by_role("dialog")

    @property
    def messages(self) -> Any:
        return self.page.locator("#messages-container")

    @property
    def statuses(self) -> Any:
        return self.messages.locator(".status-description")


@dataclass
class House:
    """All that runs."""

    heddle: Heddle
    webui: OpenWebUI
    browser: Browser
    token: str
    """Of the user, who is no administrator."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    folder = tmp_path_factory.mktemp("house")
    async with AsyncExitStack() as exits:
        running = await exits.enter_async_context(heddle(folder))
        webui = await exits.enter_async_context(open_webui(folder, running.url, running.model.url))
        playwright = await exits.enter_async_context(async_playwright())
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox"],  # it opens this machine's own pages only
        )
        exits.push_async_callback(browser.close)
        yield House(running, webui, browser, await webui.add_user("Ben"))


@pytest_asyncio.fixture(loop_scope="module")
async def desk(house: House) -> AsyncIterator[Desk]:
    context = await house.browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(20_000)
    await context.add_init_script(f"localStorage.setItem('token', '{house.token}')")
    expect.set_options(timeout=20_000)
    yield Desk(house.heddle, house.webui, await context.new_page())
    await context.close()


async def test_a_user_finds_the_assistants_by_their_titles_and_a_chat_gets_one(desk: Desk) -> None:
    await desk.ask(stack.TUTOR)
    await desk.finished()
    await desk.see(ANSWER)
    await desk.see("Weaving tutor")
    await desk.see("used simple_rag")
    await expect(desk.page.get_by_role("heading", name=TITLE)).to_be_visible()
    assert SHED in desk.heddle.model.chats[-1]["messages"][-1]["content"]
    await desk.page.get_by_role("button", name="Selected model").first.click()
    for title in ("Patient tutor", "Painter", "Reader of the web"):
        await expect(desk.page.get_by_role("option", name=title)).to_be_visible()


async def test_progress_is_visible_while_a_tool_runs_and_ends_with_it(desk: Desk) -> None:
    desk.heddle.gate.unlink(missing_ok=True)
    await desk.ask(stack.PATIENT)
    status = desk.statuses.filter(has_text="threading the heddles")
    await expect(status).to_be_visible()
    await expect(desk.messages.locator(".shimmer")).not_to_have_count(0)
    await expect(desk.messages.get_by_text(ANSWER)).to_have_count(0)
    desk.heddle.gate.touch()
    await desk.finished()
    await desk.see("used threading")
    await desk.see(ANSWER)
    await expect(desk.messages.locator(".shimmer")).to_have_count(0)
    await desk.reload()
    await desk.see("used threading")
    await expect(desk.messages.locator(".shimmer")).to_have_count(0)


async def test_a_failed_tool_is_shown_with_the_request_id(desk: Desk) -> None:
    await desk.ask(stack.UNLUCKY)
    await desk.finished()
    await desk.see("failed: library (request req_")
    await desk.statuses.first.click()
    await desk.see("library failed: The library is closed. (request req_")
    await desk.reload()
    await desk.see("failed: library (request req_")


@pytest.mark.parametrize("assistant", [stack.OVERLOADED, stack.BREAKING])
async def test_a_failed_model_is_shown_with_the_request_id(desk: Desk, assistant: str) -> None:
    await desk.ask(assistant)
    for _ in range(2):
        await desk.see("(request req_")
        shown = await desk.messages.inner_text()
        assert "overloaded" in shown
        assert "{" not in shown
        await desk.reload()


async def test_sources_have_excerpts_after_a_reload(desk: Desk) -> None:
    await desk.ask(stack.TUTOR)
    await desk.finished()
    await desk.reload()
    window = await desk.open_source("looms.txt")
    await expect(window.get_by_text(SHED)).to_be_visible()


async def test_a_page_of_the_web_is_one_source_with_title_address_and_excerpt(desk: Desk) -> None:
    await desk.ask(stack.READER)
    await desk.finished()
    await desk.reload()
    window = await desk.open_source("Loom wiki")
    await expect(window.get_by_text(EXCERPT)).to_have_count(1)
    await expect(window.get_by_text("Content", exact=True)).to_have_count(1)
    link = window.get_by_role("link", name="Loom wiki")
    await expect(link).to_have_attribute("href", "https://wiki.example/loom")


async def test_a_picture_is_shown_once_and_stays_in_the_conversation(desk: Desk) -> None:
    await desk.ask(stack.PAINTER, "A loom by the sea")
    await desk.finished()
    await _has_pictures(desk, 1)
    await desk.reload()
    await _has_pictures(desk, 1)
    await desk.say("Now in green")
    await desk.finished(answers=2)
    await _has_pictures(desk, 2)


async def _has_pictures(desk: Desk, count: int) -> None:
    pictures = desk.page.locator(_PICTURES)
    await expect(pictures).to_have_count(count)
    width = "image => image.decode().then(() => image.naturalWidth)"
    assert await pictures.last.evaluate(width) == 64
    shown = await desk.messages.inner_text()
    assert _BROKEN not in shown
    assert "[picture]" not in shown


async def test_with_a_file_attached_tools_find_the_passage_for_the_question(
    desk: Desk, tmp_path: Path
) -> None:
    file = tmp_path / "spain.txt"
    file.write_text(TREATY * 20)
    await desk.ask(stack.TUTOR, file=file)
    await desk.finished()
    await desk.reload()
    window = await desk.open_source("looms.txt", of=2)
    await expect(window.get_by_text(SHED)).to_be_visible()
    prompt = desk.heddle.model.chats[-1]["messages"][-1]["content"]
    assert prompt.strip().startswith(SHED)
    assert "<context>" in prompt
    assert TREATY in prompt


async def test_the_stop_button_stops_the_model(desk: Desk) -> None:
    desk.heddle.model.left.clear()
    await desk.ask(stack.TIRELESS)
    await expect(desk.messages).to_contain_text(f"{ANSWER} {ANSWER}")
    await desk.page.get_by_role("button", name="Stop", exact=True).click()
    await until(desk.heddle.model.left.is_set)
    await desk.finished()


async def test_an_answer_can_be_generated_again(desk: Desk) -> None:
    await desk.ask(stack.TUTOR)
    await desk.finished()
    before = len(desk.heddle.model.chats)
    await desk.messages.get_by_role("button", name="Regenerate").click()
    again = desk.page.get_by_text("Try Again", exact=True)
    if await again.count():
        await again.click()
    await until(lambda: len(desk.heddle.model.chats) > before)
    await expect(desk.messages.get_by_text("2/2")).to_be_visible()
    await desk.see(ANSWER)
    assert desk.heddle.model.chats[-1]["messages"] == desk.heddle.model.chats[-2]["messages"]
