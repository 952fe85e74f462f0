"""Anthropic's Messages API behind the gateway, with a process for each service.

Each request is made streamed and whole. The API refuses what the real one would refuse.
"""

import base64
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import pytest_asyncio
from connector import anthropic_api as api
from connector.provider import Exchange, Provider, provider
from heddle_runtime.http.egress import SETTING
from integration.answers import Answer
from integration.browser import browser
from integration.processes import Processes, processes
from integration.whole import write_assistant

pytestmark = pytest.mark.asyncio(loop_scope="module")
KINDS = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
MODEL = f"model: {{connector: anthropic, model: {api.MODEL}}}\n"
ASSISTANTS = {
    "1": f"{MODEL}capabilities: {{vision: true}}\n",
    "2": f"{MODEL}tools: [{{type: word_count, mode: function}}]\n",
}
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
CITY = {"city": "Bilbao", "days": [1, 2.5]}
WEATHER = {
    "type": "function",
    "function": {"name": "weather", "description": "The weather.", "parameters": {}},
}


@dataclass(frozen=True)
class Reply:
    """A message of the model, in pieces and whole."""

    events: list[bytes]
    whole: bytes

    async def send(self, exchange: Exchange) -> None:
        await api.messages_api(*self.events, whole=self.whole)(exchange)


THOUGHT = Reply(
    [
        api.start(),
        *api.thinking(0, "Let me ", "see.", signature="EqQB"),
        *api.text(1, "A shed ", "is a gap."),
        api.end(),
    ],
    api.message(
        {"type": "thinking", "thinking": "Let me see.", "signature": "EqQB"},
        {"type": "text", "text": "A shed is a gap."},
    ),
)


def calling(name: str, arguments: Any) -> Reply:
    """Return a message that thinks, and calls a function."""
    written = json.dumps(arguments)
    return Reply(
        [
            api.start(),
            *api.thinking(0, "I need ", "a tool.", signature="EqQB"),
            *api.text(1, "I look it up."),
            *api.tool_use(2, "toolu_01", name, written[:5], written[5:]),
            api.end("tool_use"),
        ],
        api.message(
            {"type": "thinking", "thinking": "I need a tool.", "signature": "EqQB"},
            {"type": "text", "text": "I look it up."},
            {"type": "tool_use", "id": "toolu_01", "name": name, "input": arguments},
            reason="tool_use",
        ),
    )


async def converse(exchange: Exchange) -> None:
    """Call each declared function once, then answer."""
    if exchange.method == "GET":
        await exchange.reply(404, api.failure_body("not_found_error", "model: unknown"))
        return
    declared = [tool["name"] for tool in exchange.json.get("tools", ())]
    content = json.dumps(exchange.json["messages"])
    if not declared or "tool_result" in content:
        await THOUGHT.send(exchange)
    elif declared == ["weather"]:
        await calling("weather", CITY).send(exchange)
    else:
        await calling(declared[0], {"query": "one two three"}).send(exchange)


@dataclass
class Heddle:
    """All services, and the API that they ask."""

    services: Processes
    api: Provider

    async def ask(self, assistant: str, content: Any, *, stream: bool, **members: Any) -> Answer:
        """Return the answer to one message, or to the conversation in `members`."""
        self.api.exchanges.clear()
        body = {
            "model": f"lamb_assistant.{assistant}",
            "messages": [{"role": "user", "content": content}],
            "stream": stream,
            **members,
        }
        async with browser(self.services.url, timeout=60) as client:
            response = await client.post("/v1/chat/completions", json=body)
        return Answer.of_stream(response) if stream else Answer.of_whole(response)

    @property
    def requests(self) -> list[Any]:
        """The requests for messages, since the last question."""
        return [each.json for each in self.api.exchanges if each.method == "POST"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def heddle(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Heddle]:
    folder = tmp_path_factory.mktemp("anthropic")
    for identifier, document in ASSISTANTS.items():
        write_assistant(folder, identifier, document)
    async with AsyncExitStack() as exits:
        claude = await exits.enter_async_context(provider(converse))
        settings = {
            "HEDDLE_CONNECTOR_ANTHROPIC_BASE_URL": claude.url,
            "HEDDLE_CONNECTOR_ANTHROPIC_API_KEY": api.KEY,
            SETTING: "127.0.0.0/8",
        }
        yield Heddle(await exits.enter_async_context(processes(folder, **settings)), claude)


@KINDS
async def test_thoughts_and_text_arrive(heddle: Heddle, *, stream: bool) -> None:
    answer = await heddle.ask("1", "What is a shed?", stream=stream)
    assert (answer.text, answer.reasoning) == ("A shed is a gap.", "Let me see.")
    assert answer.finish == "stop"
    [request] = heddle.requests
    assert request.get("stream", False) is stream


@KINDS
async def test_pictures_reach_the_model(heddle: Heddle, *, stream: bool) -> None:
    content = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
    ]
    answer = await heddle.ask("1", content, stream=stream)
    assert answer.text == "A shed is a gap."
    [request] = heddle.requests
    [turn] = request["messages"]
    source = {"type": "base64", "media_type": "image/png", "data": PNG}
    assert {"type": "image", "source": source} in turn["content"]


@KINDS
async def test_calls_of_the_clients_functions_arrive_and_their_results_return(
    heddle: Heddle, *, stream: bool
) -> None:
    answer = await heddle.ask("1", "The weather?", stream=stream, tools=[WEATHER])
    assert (answer.text, answer.finish) == ("I look it up.", "tool_calls")
    [call] = answer.tool_calls
    assert (call["id"], call["function"]["name"]) == ("toolu_01", "weather")
    assert json.loads(call["function"]["arguments"]) == CITY

    conversation = [
        {"role": "user", "content": "The weather?"},
        {"role": "assistant", "content": answer.text, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": "Rain."},
    ]
    last = await heddle.ask("1", "", stream=stream, tools=[WEATHER], messages=conversation)
    assert (last.text, last.finish) == ("A shed is a gap.", "stop")


@KINDS
async def test_a_tool_of_the_assistant_runs_and_the_thoughts_before_it_return_signed(
    heddle: Heddle, *, stream: bool
) -> None:
    answer = await heddle.ask("2", "How many words?", stream=stream)
    assert answer.text.endswith("A shed is a gap.")
    first, second = heddle.requests
    assert [tool["name"] for tool in first["tools"]] == ["word_count"]
    thought, text, call = second["messages"][1]["content"]
    assert thought == {"type": "thinking", "thinking": "I need a tool.", "signature": "EqQB"}
    assert text == {"type": "text", "text": "I look it up."}
    assert call["input"] == {"query": "one two three"}
    [result] = second["messages"][2]["content"]
    assert result["tool_use_id"] == call["id"]
    assert "3" in json.dumps(result["content"])


@KINDS
async def test_an_overloaded_api_is_reported(heddle: Heddle, *, stream: bool) -> None:
    async def overloaded(exchange: Exchange) -> None:
        await exchange.reply(529, api.failure_body("overloaded_error", "Overloaded"))

    heddle.api.script = overloaded
    try:
        answer = await heddle.ask("1", "What is a shed?", stream=stream)
    finally:
        heddle.api.script = converse
    assert answer.status == httpx.codes.SERVICE_UNAVAILABLE, answer
