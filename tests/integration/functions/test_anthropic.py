"""Anthropic's reasoning comes back unchanged with calls, from Heddle and by way of clients."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from connector import anthropic_api as api
from connector.provider import Exchange, Provider, provider
from integration.functions.toolbox import PLUGIN
from integration.whole import whole, write_assistant
from openai import AsyncOpenAI, BadRequestError

NAME = "lamb_assistant.1"
TOOLS: Any = [{"type": "function", "function": {"name": "alarm", "parameters": {}}}]
ADDER = "tools: [{type: adder, mode: function}]\n"


def content(function: str) -> Sequence[dict[str, Any]]:
    """Return the content of an answer that calls a function."""
    return [
        {"type": "thinking", "thinking": "One and one.", "signature": "EqQBCgIYAhIM=="},
        {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix"},
        {"type": "text", "text": "I add."},
        {"type": "tool_use", "id": "toolu_01", "name": function, "input": {"a": 1, "b": 1}},
    ]


def pieces(function: str) -> list[bytes]:
    return [
        api.start(),
        *api.thinking(0, "One and ", "one.", signature="EqQBCgIYAhIM=="),
        *api.block(1, content(function)[1]),
        *api.text(2, "I ", "add."),
        *api.tool_use(3, "toolu_01", function, '{"a": 1, ', '"b": 1}'),
        api.end("tool_use"),
    ]


@asynccontextmanager
async def talking(
    folder: Path, monkeypatch: pytest.MonkeyPatch, function: str, tools: str
) -> AsyncIterator[tuple[AsyncOpenAI, Provider]]:
    """Run Heddle before an API that rejects calls without the reasoning before them."""
    first = api.messages_api(
        *pieces(function), whole=api.message(*content(function), reason="tool_use")
    )
    second = api.messages_api(
        api.start(),
        *api.text(0, "Do", "ne."),
        api.end(),
        whole=api.message({"type": "text", "text": "Done."}),
    )

    async def script(exchange: Exchange) -> None:
        answers = [each for each in exchange.json["messages"] if each["role"] == "assistant"]
        if not answers:
            await first(exchange)
        elif answers[-1]["content"] != content(function):
            message = "`thinking` blocks in the latest assistant message cannot be modified."
            await exchange.reply(400, api.failure_body("invalid_request_error", message))
        else:
            await second(exchange)

    (folder / "plugins").mkdir()
    (folder / "plugins" / "toolbox.py").write_text(PLUGIN)
    write_assistant(folder, "1", f"model: {{connector: anthropic, model: {api.MODEL}}}\n{tools}")
    async with provider(script) as upstream:
        monkeypatch.setenv("HEDDLE_CONNECTOR_ANTHROPIC_BASE_URL", upstream.url)
        monkeypatch.setenv("HEDDLE_CONNECTOR_ANTHROPIC_API_KEY", api.KEY)
        async with (
            whole(folder) as heddle,
            AsyncOpenAI(
                base_url=f"{heddle.url}/v1", api_key="development", max_retries=0
            ) as client,
        ):
            yield client, upstream


async def answered(client: AsyncOpenAI, messages: list[Any], *, stream: bool, **more: Any) -> Any:
    """Return the message that comes back."""
    if not stream:
        completion = await client.chat.completions.create(model=NAME, messages=messages, **more)
        return completion.choices[0].message
    async with client.chat.completions.stream(model=NAME, messages=messages, **more) as events:
        async for _ in events:
            continue
        return (await events.get_final_completion()).choices[0].message


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
async def test_a_function_of_the_assistant_can_be_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, stream: bool
) -> None:
    async with talking(tmp_path, monkeypatch, "add", ADDER) as (client, upstream):
        message = await answered(client, [{"role": "user", "content": "1 and 1?"}], stream=stream)

    assert message.content == "I add.\n\nDone."
    assert len(upstream.exchanges) == 2
    assert "anthropic_content" not in (message.model_extra or {})
    last = upstream.exchanges[1].json["messages"][-1]
    assert last["content"][0]["tool_use_id"] == "toolu_01"


@pytest.mark.parametrize("tools", ["", ADDER])
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
async def test_a_function_of_the_client_can_be_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tools: str, *, stream: bool
) -> None:
    async with talking(tmp_path, monkeypatch, "alarm", tools) as (client, upstream):
        talk: list[Any] = [{"role": "user", "content": "Wake me."}]
        message = await answered(client, talk, stream=stream, tools=TOOLS)
        [call] = message.tool_calls
        assert json.loads(call.function.arguments) == {"a": 1, "b": 1}
        talk += [
            message.model_dump(exclude_none=True),
            {"role": "tool", "tool_call_id": call.id, "content": "It rings."},
        ]
        message = await answered(client, talk, stream=stream, tools=TOOLS)

    assert message.content == "Done."
    assert len(upstream.exchanges) == 2


async def test_an_api_that_misses_it_is_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = {"id": "toolu_01", "type": "function", "function": {"name": "alarm", "arguments": ""}}
    talk: list[Any] = [
        {"role": "user", "content": "Wake me."},
        {"role": "assistant", "tool_calls": [called]},
        {"role": "tool", "tool_call_id": "toolu_01", "content": "It rings."},
    ]
    async with talking(tmp_path, monkeypatch, "alarm", "") as (client, _):
        with pytest.raises(BadRequestError, match="cannot be modified"):
            await answered(client, talk, stream=False, tools=TOOLS)
