"""Hostile texts of users, tools, documents and models execute nothing in the studio."""

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from pathlib import Path
from uuid import uuid4

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
EACH = 9
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


def test_there_are_sixty_different_payloads() -> None:
    assert len(set(PAYLOADS)) >= 60


@pytest.mark.parametrize(("payload", "event"), [(HTML[2], "dialog"), (HTML[5], "request")])
def test_a_payload_in_a_page_without_a_sanitiser_is_noticed(
    hostile: Studio, payload: str, event: str
) -> None:
    with watched(hostile, policy=False) as (page, executed):
        page.goto(f"{hostile.url}/studio/")
        page.get_by_role("heading", level=1).wait_for(state="attached")
        with page.expect_event(event):
            page.evaluate(_INSERT, payload)
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


def _post(studio: Studio, path: str, **body: object) -> str:
    response = studio.client.post(path, json=body)
    assert response.is_success, response.text
    return str(response.json()["id"])


def names_everywhere(studio: Studio, payloads: Sequence[str]) -> tuple[list[str], list[str]]:
    """Store texts as names of all that learners and teachers see.

    Returns the paths of pages, and the conversations with an attachment of that name.
    """
    pages, conversations, assistant = [], [], ""
    for payload in payloads:
        assistant = create(studio, f"named_{uuid4().hex}", payload)
        path = f"/assistants/{assistant}"
        stored = studio.client.get(path).json()
        body = {
            **{key: stored[key] for key in ("name", "title", "description", "model", "tools")},
            "prompt_template": stored["prompt_template"],
            "starter_questions": [payload],
        }
        studio.client.put(path, json=body).raise_for_status()
        members = {"assistants": [assistant], "teachers": ["ana@example.org"]}
        group = _post(studio, "/groups", title=payload, **members)
        content = [
            {"type": "input_text", "text": payload},
            {
                "type": "input_file",
                "filename": f"{payload}.md",
                "file_data": f"data:text/markdown;base64,{b64encode(payload.encode()).decode()}",
            },
        ]
        answer = [{"type": "output_text", "text": payload, "annotations": []}]
        items = [
            {"type": "message", "role": "user", "content": content},
            {"type": "message", "role": "assistant", "content": answer},
        ]
        conversation = _post(studio, "/v1/conversations", title=payload, items=items)
        conversations.append(conversation)
        pages.append(f"chat/{conversation}")
        if len(pages) % EACH == 0:  # lists show all titles
            pages += [f"chat/new?assistant={assistant}", f"groups/{group}"]
    texts = [{"title": each, "text": each, "expected": each} for each in payloads]
    questions = studio.client.put(f"/assistants/{assistant}/questions", json={"questions": texts})
    assert questions.is_success, questions.text
    return [*pages, f"assistants/{assistant}/questions"], conversations


def test_names_titles_and_attachments_execute_nothing(hostile: Studio) -> None:
    pages, conversations = names_everywhere(hostile, PAYLOADS)
    with watched(hostile, policy=False) as (page, executed):
        for path in ("chat", "groups", "assistants", *pages):
            page.goto(f"{hostile.url}/studio/{path}")
            page.get_by_role("heading").first.wait_for(state="attached")
            check(page, executed, path)
            if path.rpartition("/")[2] in conversations:
                page.get_by_role("button", name="Manage this conversation").click()
                page.get_by_role("dialog").wait_for()
                check(page, executed, path)
    assert len(conversations) == len(PAYLOADS)
    for each in conversations:
        hostile.client.delete(f"/v1/conversations/{each}").raise_for_status()
