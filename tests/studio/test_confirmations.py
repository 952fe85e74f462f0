"""A call that waits in a trial: what it would do, in words, and the user's decision."""

import asyncio
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from integration.functions.upstream import scripted
from playwright.sync_api import Browser, expect
from studio.harness import PHONE, VIEWS, Studio, running
from threats.obedient_model import obey
from threats.test_34_untrusted_texts import PLUGIN

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
ORDER = 'Look. [[call delete_page {"page": "Timetable of the first year"}]]'


@contextmanager
def obedient() -> Iterator[str]:
    """Serve the obedient model in a thread, and yield its address."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = scripted(obey)
    provider = asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(10)
    try:
        yield provider.url
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@pytest.fixture(scope="module")
def wiki(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Studio]:
    """A Heddle with a tool that destroys, and a model that obeys."""
    folder: Path = tmp_path_factory.mktemp("wiki")
    plugins = folder / "plugins"
    plugins.mkdir()
    (plugins / "wiki.py").write_text(PLUGIN)
    with (
        obedient() as url,
        running(
            folder,
            browser,
            HEDDLE_TOOLS_PLUGINS_DIR=str(plugins),
            HEDDLE_CONNECTOR_OPENAI_BASE_URL=url,
            HEDDLE_CONNECTOR_OPENAI_API_KEY="test",
        ) as studio,
    ):
        yield studio


@pytest.fixture(scope="module")
def editor(wiki: Studio) -> str:
    """The path of the editor of an assistant."""
    body = {
        "name": "wiki",
        "title": "Wiki",
        "model": {"connector": "openai", "model": "scripted"},
        "tools": [{"type": "delete_page", "mode": "function"}],
    }
    created = wiki.client.post("/assistants", json=body)
    created.raise_for_status()
    return f"assistants/{created.json()['id']}"


@pytest.mark.parametrize(("theme", "width"), VIEWS)
def test_the_user_reads_what_a_call_would_do_and_decides(
    wiki: Studio, editor: str, theme: str, width: int
) -> None:
    with wiki.screen(theme=theme, width=width) as screen:
        page = screen.page
        screen.open(editor)
        if width == PHONE:
            page.get_by_role("button", name="Try it").click()
        for choice, outcome in (("No", "You declined"), ("Do it", "You confirmed")):
            page.get_by_label("Your question").fill(ORDER)
            page.get_by_role("button", name="Send").click()
            answer = page.get_by_role("article").last
            expect(answer).to_contain_text("can change something outside of this chat")
            expect(answer).to_contain_text("Timetable of the first year")
            screen.settle()
            screen.check()
            screen.picture(f"confirmation-{theme}-{width}")
            answer.get_by_role("button", name=choice, exact=True).click()
            expect(answer).to_contain_text(f"{outcome} delete_page.")
            expect(answer).to_contain_text("As you wish.")
            expect(answer.get_by_role("button", name="Do it", exact=True)).to_have_count(0)
            if choice == "Do it":
                expect(answer).to_contain_text("Used Delete page")
            screen.check()
            page.get_by_role("button", name="Clear").click()


def test_a_learner_decides_in_the_chat_also_after_a_reload(wiki: Studio, editor: str) -> None:
    with wiki.screen() as screen:
        page = screen.page
        for choice in ("No", "Do it"):
            screen.open(f"chat/new?assistant={editor.rpartition('/')[2]}")
            page.get_by_label("Your question").fill(ORDER)
            page.keyboard.press("Enter")
            answer = page.get_by_role("article").last
            expect(answer).to_contain_text("Timetable of the first year")
            expect(page).to_have_url(re.compile("conv_"))
            page.reload()
            screen.settle()
            screen.check()
            answer.get_by_role("button", name=choice, exact=True).click()
            expect(answer).to_contain_text("As you wish.")
            expect(answer.get_by_role("button", name=choice, exact=True)).to_have_count(0)
        expect(page.get_by_role("article").last).to_contain_text("Used 1 tool")
        screen.check()


def test_the_author_chooses_what_happens_when_a_call_changes_something(
    wiki: Studio, editor: str
) -> None:
    with wiki.screen() as screen:
        page = screen.page
        screen.open(editor)
        page.locator("[data-field='tools[0]'] [aria-expanded]").first.click()
        page.get_by_label("If a call changes something").select_option("Ask the user")
        screen.picture("on-change")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_text("Everything is saved")).to_be_visible()
        stored = wiki.client.get(f"/{editor}").json()
        assert stored["tools"][0]["on_change"] == "ask"
        screen.check()
