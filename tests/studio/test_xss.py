"""Hostile texts of users, tools, documents and models execute nothing in the studio."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from studio.harness import Studio, running
from studio.hostile_texts import HTML, PAYLOADS, check, watched

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(600)]
# Each part of the result is the question, so a payload reaches all places where texts are shown.
PLUGIN = '''
from heddle_tools_service.sdk import Source, ToolCall, ToolConfig, ToolError, ToolResult, tool

@tool("hostile", title="Hostile", slot="hostile")
async def hostile(call: ToolCall[ToolConfig]) -> ToolResult:
    """Returns the question everywhere."""
    call.status(call.query)
    attributes = {"page": "1", "document": call.query}
    return ToolResult(
        call.query, [Source(call.query, call.query, call.query, kind="page", attributes=attributes)]
    )

@tool("breaking", title="Breaking", slot="breaking")
async def breaking(call: ToolCall[ToolConfig]) -> ToolResult:
    """Fails with the question."""
    raise ToolError(call.query)
'''
_INSERT = "(html) => document.body.insertAdjacentHTML('beforeend', html)"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Studio]:
    """A Heddle with tools that return what they are asked."""
    folder: Path = tmp_path_factory.mktemp("hostile")
    plugins = folder / "plugins"
    plugins.mkdir()
    (plugins / "hostile.py").write_text(PLUGIN)
    with running(folder, browser, HEDDLE_TOOLS_PLUGINS_DIR=str(plugins)) as studio:
        yield studio


def create(studio: Studio, name: str, title: str) -> str:
    """Create an assistant with a title, and return its identifier."""
    body = {
        "name": name,
        "title": title,
        "description": title,
        "model": {"connector": "bypass", "model": "full-conversation-bypass"},
        "prompt_template": "{user_input}\n\n{hostile}\n\n{breaking}",
        "tools": [{"type": "hostile"}, {"type": "breaking"}],
    }
    response = studio.client.post("/assistants", json=body)
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


def test_there_are_fifty_different_payloads() -> None:
    assert len(set(PAYLOADS)) >= 50


@pytest.mark.parametrize("payload", [HTML[2], HTML[5]])
def test_a_payload_in_a_page_without_a_sanitiser_is_noticed(hostile: Studio, payload: str) -> None:
    with watched(hostile, policy=False) as (page, executed):
        page.goto(f"{hostile.url}/studio/")
        page.get_by_role("heading", level=1).wait_for(state="attached")
        page.evaluate(_INSERT, payload)
        page.wait_for_timeout(500)
        assert executed != []


@pytest.mark.parametrize("policy", [True, False])
def test_tools_sources_and_models_execute_nothing(hostile: Studio, *, policy: bool) -> None:
    identifier = create(hostile, f"trial_{policy}".lower(), "Hostile")
    with watched(hostile, policy=policy) as (page, executed):
        page.goto(f"{hostile.url}/studio/assistants/{identifier}")
        for payload in PAYLOADS:
            page.get_by_label("Your question").fill(payload)
            page.get_by_role("button", name="Send").click()
            article = page.get_by_role("article")
            page.get_by_role("button", name="How it came about", exact=True).click()
            page.get_by_role("button", name="Tool hostile").click()
            expect(page.get_by_role("heading", name="Output")).to_be_visible()
            article.get_by_role("heading", name="1 source").wait_for()
            for summary in article.locator("summary:visible").all():
                summary.click()
            check(page, executed, payload)
            page.get_by_role("button", name="Clear").click()


@pytest.mark.parametrize("policy", [True, False])
def test_the_chat_executes_nothing(hostile: Studio, *, policy: bool) -> None:
    identifier = create(hostile, f"chat_{policy}".lower(), "Hostile")
    with watched(hostile, policy=policy) as (page, executed):
        for number, payload in enumerate(PAYLOADS):
            if number % 5 == 0:  # the model repeats the conversation
                page.goto(f"{hostile.url}/studio/chat/new?assistant={identifier}")
            page.get_by_label("Your question").fill(payload)
            page.keyboard.press("Enter")
            copies = page.get_by_role("button", name="Copy the answer")
            expect(copies).to_have_count(number % 5 + 1)
            check(page, executed, payload)
        expect(page).to_have_url(re.compile("conv_"))
        page.reload()
        page.get_by_role("list", name="Sources").last.get_by_role("button").first.click()
        page.get_by_role("complementary").wait_for()
        check(page, executed, "all of them, stored")
