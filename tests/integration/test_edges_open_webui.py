"""What Open WebUI asks and shows, through the gateway, with a process for each service.

The gateway has the settings of the profile `openwebui` in the compose file; the requests are those
of Open WebUI 0.12.4. tests/open_webui shows the same in a browser.
"""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import pytest_asyncio
from gateway.tasks import PROMPT
from integration.browser import browser
from integration.test_edges_conversation import WRAPPED
from open_webui import heddle as stack
from open_webui.heddle import EXCERPT, Heddle, heddle
from open_webui.model import TITLE
from open_webui.profile import OPERATOR_KEY, TRUSTED_KEY

pytestmark = pytest.mark.asyncio(loop_scope="module")
CHAT = "/v1/chat/completions"
BEN, CY = "ben@uni.example", "cy@uni.example"
# Open WebUI calls with aiohttp.
OTHER_CLIENT = {"user-agent": "OpenAI/Python 3.54.0"}
WITHOUT_USER = {"user-agent": "Python/3.12 aiohttp/3.14.5"}


def of_user(email: str) -> dict[str, str]:
    """Return the headers of a request of a user."""
    return {
        **WITHOUT_USER,
        "X-OpenWebUI-User-Name": email.partition("@")[0],
        "X-OpenWebUI-User-Id": "3f6c2b1e-0000-4000-8000-000000000001",
        "X-OpenWebUI-User-Email": email,
        "X-OpenWebUI-User-Role": "user",
        "X-OpenWebUI-Chat-Id": "c-1",
    }


@dataclass
class Chat:
    """An answer that was streamed."""

    response: httpx.Response
    chunks: list[dict[str, Any]]

    @property
    def deltas(self) -> list[dict[str, Any]]:
        return [choice["delta"] for c in self.chunks for choice in c.get("choices", [])]

    @property
    def text(self) -> str:
        return "".join(delta.get("content") or "" for delta in self.deltas)

    @property
    def images(self) -> list[Any]:
        return [image for delta in self.deltas for image in delta.get("images", [])]

    def events(self, kind: str) -> list[dict[str, Any]]:
        shown = [chunk["event"] for chunk in self.chunks if "event" in chunk]
        return [event["data"] for event in shown if event["type"] == kind]


@dataclass
class FrontEnd:
    """Open WebUI, as the gateway sees it."""

    heddle: Heddle
    client: httpx.AsyncClient

    async def get(self, path: str, headers: dict[str, str]) -> httpx.Response:
        return await self.client.get(path, headers=headers)

    async def ask(
        self, assistant: str, text: str = stack.QUESTION, headers: dict[str, str] | None = None
    ) -> httpx.Response:
        """Ask for an answer that is not streamed."""
        return await self.client.post(
            CHAT, json=_body(assistant, text), headers=of_user(BEN) if headers is None else headers
        )

    async def chat(
        self, assistant: str, text: str = stack.QUESTION, headers: dict[str, str] | None = None
    ) -> Chat:
        """Ask for an answer as a stream."""
        response = await self.client.post(
            CHAT,
            json={**_body(assistant, text), "stream": True},
            headers=of_user(BEN) if headers is None else headers,
        )
        data = "data: "
        lines = [line[len(data) :] for line in response.text.splitlines() if line.startswith(data)]
        return Chat(response, [json.loads(line) for line in lines if line != "[DONE]"])


def _body(assistant: str, text: str) -> dict[str, Any]:
    message = {"role": "user", "content": text}
    return {"model": f"lamb_assistant.{assistant}", "messages": [message]}


async def users_see_titles_of_assistants(front: FrontEnd) -> None:
    listed = (await front.get("/v1/models", of_user(BEN))).json()["data"]
    names = {model["id"]: model["name"] for model in listed}
    assert names["lamb_assistant.file-1"] == "Weaving tutor"
    assert not any(m["info"]["meta"]["capabilities"]["builtin_tools"] for m in listed)


async def a_user_has_what_is_his(front: FrontEnd) -> None:
    body = {"name": "mine", "model": {"connector": "bypass", "model": "simple-bypass"}}
    created = await front.client.post("/assistants", json=body, headers=of_user(BEN))
    assert created.status_code == 201, created.text
    refused = await front.client.post("/assistants", json=body, headers=of_user(CY))
    assert refused.status_code == 403, refused.text  # Heddle does not know him
    path = created.headers["location"]
    assert (await front.get(path, of_user(BEN))).json()["owner"] == BEN
    assert (await front.get(path, of_user(CY))).status_code == 404
    assert (await front.client.delete(path, headers=of_user(BEN))).is_success


async def without_a_user_the_key_only_asks(front: FrontEnd) -> None:
    body = {"name": "mine", "model": {"connector": "bypass", "model": "simple-bypass"}}
    refused = await front.client.post("/assistants", json=body, headers=WITHOUT_USER)
    assert refused.status_code == 403, refused.text
    assert (await front.ask(stack.TUTOR, headers=WITHOUT_USER)).status_code == 200


async def the_key_of_the_operator_believes_no_header(front: FrontEnd) -> None:
    headers = {**of_user(BEN), "authorization": f"Bearer {OPERATOR_KEY}"}
    body = {"name": "his", "model": {"connector": "bypass", "model": "simple-bypass"}}
    created = await front.client.post("/assistants", json=body, headers=headers)
    path = created.headers["location"]
    assert (await front.get(path, headers)).json()["owner"] == "operator"
    assert (await front.get(path, of_user(BEN))).status_code == 404
    assert (await front.client.delete(path, headers=headers)).is_success


async def titles_run_no_tools(front: FrontEnd) -> None:
    for assistant in (stack.UNLUCKY, stack.PAINTER, stack.OVERLOADED):
        before = len(front.heddle.model.chats)
        response = await front.ask(assistant, PROMPT)
        assert json.loads(response.json()["choices"][0]["message"]["content"]) == {"title": TITLE}
        assert "heddle" not in response.json()
        assert front.heddle.model.tasks[-1]["model"] == "small"
        assert len(front.heddle.model.chats) == before


async def a_picture_is_shown_once(front: FrontEnd) -> None:
    for headers in (of_user(BEN), WITHOUT_USER, {**OTHER_CLIENT, "X-Heddle-Events": "openwebui"}):
        chat = await front.chat(stack.PAINTER, headers=headers)
        assert len(chat.images) == 1
        assert "![" not in chat.text
        # A definition, which renders as nothing; without text the answer is lost in later turns.
        assert chat.text.strip().startswith("[picture]: http://127.0.0.1:")
        assert len(chat.text.split()) == 2
    whole = (await front.ask(stack.PAINTER)).json()["choices"][0]["message"]
    assert whole["content"].count("![picture](") == 1


async def other_clients_get_links_to_pictures(front: FrontEnd) -> None:
    for headers in (OTHER_CLIENT, {**of_user(BEN), "X-Heddle-Events": "none"}):
        chat = await front.chat(stack.PAINTER, headers=headers)
        assert (len(chat.images), chat.text.count("![picture](")) == (1, 1)


async def a_picture_opens_for_its_user(front: FrontEnd) -> None:
    address = (await front.chat(stack.PAINTER)).text.split()[-1]
    assert (await front.get(address, of_user(BEN))).content == stack.png()
    assert (await front.get(address, of_user(CY))).status_code == 404


async def a_page_of_the_web_has_its_title_and_excerpt(front: FrontEnd) -> None:
    sources = (await front.ask(stack.READER)).json()["sources"]
    for headers in (of_user(BEN), WITHOUT_USER):
        chat = await front.chat(stack.READER, headers=headers)
        [source] = chat.events("source")
        assert sources == [source]
        assert source["document"] == [EXCERPT]
        assert source["metadata"] == [
            {"source": "https://wiki.example/loom", "name": "Loom wiki", "external": True}
        ]
        # Open WebUI takes the title of a citation for another excerpt.
        assert not any("annotations" in delta for delta in chat.deltas)
    assert "annotations" in (await front.chat(stack.READER, headers=OTHER_CLIENT)).deltas[-1]


async def passages_have_excerpts(front: FrontEnd) -> None:
    [source] = (await front.chat(stack.TUTOR)).events("source")
    assert (source["document"], source["metadata"][0]["name"]) == ([stack.SHED], "looms.txt")
    assert (await front.ask(stack.TUTOR)).json()["sources"] == [source]


async def a_question_about_a_file_finds_its_passage(front: FrontEnd) -> None:
    [source] = (await front.chat(stack.TUTOR, WRAPPED)).events("source")
    assert source["metadata"][0]["name"] == "looms.txt"
    assert (await front.ask(stack.TUTOR, WRAPPED)).json()["sources"] == [source]
    assert WRAPPED in front.heddle.model.chats[-1]["messages"][-1]["content"]


async def the_last_line_of_a_failed_tool_has_the_request_id(front: FrontEnd) -> None:
    chat = await front.chat(stack.UNLUCKY)
    lines = [status["description"] for status in chat.events("status")]
    identifier = chat.response.headers["x-request-id"]
    assert lines[-1] == f"failed: library (request {identifier})"
    assert f"library failed: The library is closed. (request {identifier})" in lines
    assert chat.events("status")[-1]["done"]
    whole = await front.ask(stack.UNLUCKY)
    assert whole.headers["x-request-id"] in whole.headers["x-heddle-warning"]


async def a_failed_model_is_shown_with_the_request_id(front: FrontEnd) -> None:
    streamed = (await front.chat(stack.OVERLOADED)).response
    for response in (streamed, await front.ask(stack.OVERLOADED)):
        assert response.status_code == 503
        message = response.json()["error"]["message"]
        assert message.endswith(f" (request {response.headers['x-request-id']})")


async def a_model_that_fails_midway_is_shown_with_the_request_id(front: FrontEnd) -> None:
    chat = await front.chat(stack.BREAKING)
    message = chat.chunks[-1]["error"]["message"]
    assert message.endswith(f" (request {chat.response.headers['x-request-id']})")
    assert chat.text == "It "


async def an_error_of_the_client_has_no_request_id(front: FrontEnd) -> None:
    response = await front.ask("99")
    assert response.status_code == 404
    assert "req_" not in response.json()["error"]["message"]


Row = Callable[[FrontEnd], Awaitable[None]]
ROWS: list[Row] = [
    users_see_titles_of_assistants,
    a_user_has_what_is_his,
    without_a_user_the_key_only_asks,
    the_key_of_the_operator_believes_no_header,
    titles_run_no_tools,
    a_picture_is_shown_once,
    other_clients_get_links_to_pictures,
    a_picture_opens_for_its_user,
    a_page_of_the_web_has_its_title_and_excerpt,
    passages_have_excerpts,
    a_question_about_a_file_finds_its_passage,
    the_last_line_of_a_failed_tool_has_the_request_id,
    a_failed_model_is_shown_with_the_request_id,
    a_model_that_fails_midway_is_shown_with_the_request_id,
    an_error_of_the_client_has_no_request_id,
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def front(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[FrontEnd]:
    async with (
        heddle(tmp_path_factory.mktemp("heddle")) as running,
        browser(running.url, OPERATOR_KEY) as operator,
        browser(running.url, TRUSTED_KEY, timeout=60) as client,
    ):
        for path, body in (
            ("/organizations/default", {"name": "University"}),
            (f"/organizations/default/users/{BEN}", {"role": "creator"}),
        ):
            (await operator.put(path, json=body)).raise_for_status()
        yield FrontEnd(running, client)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.__name__)
async def test_open_webui(front: FrontEnd, row: Row) -> None:
    await row(front)
