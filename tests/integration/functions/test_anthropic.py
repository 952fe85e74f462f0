"""Anthropic's reasoning comes back unchanged with calls, from Heddle and by way of clients."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from connector import anthropic_api as api
from connector.provider import Exchange, Script
from integration.functions.sdk import answered
from integration.functions.stage import Stage
from openai import AsyncOpenAI, BadRequestError

pytestmark = pytest.mark.asyncio(loop_scope="module")
TOOLS: Any = [{"type": "function", "function": {"name": "alarm", "parameters": {}}}]


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


def demanding(function: str) -> Script:
    """Return the script of an API that rejects calls without the reasoning before them."""
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

    return script


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
async def test_a_function_of_the_assistant_can_be_called(
    stage: Stage, client: AsyncOpenAI, *, stream: bool
) -> None:
    exchanges = stage.follow_anthropic(demanding("add"))
    question = [{"role": "user", "content": "1 and 1?"}]
    message = await answered(client, "anthropic-adding", question, stream=stream)

    assert message.content == "I add.\n\nDone."
    assert len(exchanges) == 2
    assert "anthropic_content" not in (message.model_extra or {})
    last = exchanges[1].json["messages"][-1]
    assert last["content"][0]["tool_use_id"] == "toolu_01"


@pytest.mark.parametrize("assistant", ["anthropic", "anthropic-adding"])
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
async def test_a_function_of_the_client_can_be_called(
    stage: Stage, client: AsyncOpenAI, assistant: str, *, stream: bool
) -> None:
    exchanges = stage.follow_anthropic(demanding("alarm"))
    talk: list[Any] = [{"role": "user", "content": "Wake me."}]
    message = await answered(client, assistant, talk, stream=stream, tools=TOOLS)
    [call] = message.tool_calls
    assert json.loads(call.function.arguments) == {"a": 1, "b": 1}
    talk += [
        message.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": call.id, "content": "It rings."},
    ]
    message = await answered(client, assistant, talk, stream=stream, tools=TOOLS)

    assert message.content == "Done."
    assert len(exchanges) == 2


async def test_an_api_that_misses_it_is_heard(stage: Stage, client: AsyncOpenAI) -> None:
    called = {"id": "toolu_01", "type": "function", "function": {"name": "alarm", "arguments": ""}}
    talk: list[Any] = [
        {"role": "user", "content": "Wake me."},
        {"role": "assistant", "tool_calls": [called]},
        {"role": "tool", "tool_call_id": "toolu_01", "content": "It rings."},
    ]
    stage.follow_anthropic(demanding("alarm"))
    with pytest.raises(BadRequestError, match="cannot be modified"):
        await answered(client, "anthropic", talk, stream=False, tools=TOOLS)
