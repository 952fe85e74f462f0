"""Functions, tools that fill the prompt, and pictures in one request over HTTP; or none of them."""

from typing import Any

import pytest
from integration.browser import browser
from integration.functions.stage import Stage
from integration.functions.upstream import calls, says

pytestmark = pytest.mark.asyncio(loop_scope="module")
PICTURE = "data:image/png;base64,iVBORw0KGgo="
ALARM = {"type": "function", "function": {"name": "alarm", "parameters": {"type": "object"}}}
SCRIPT = [[calls("add", '{"a": 2}')], [says("Three "), says("sheds.")]]


def question(assistant: str, **more: Any) -> dict[str, Any]:
    content = [
        {"type": "text", "text": "sheds"},
        {"type": "image_url", "image_url": {"url": PICTURE, "detail": "low"}},
    ]
    messages = [{"role": "user", "content": content}]
    return {"model": f"lamb_assistant.{assistant}", "messages": messages, **more}


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
async def test_all_of_it_reaches_the_model_in_every_round(stage: Stage, *, stream: bool) -> None:
    upstream = stage.follow(SCRIPT)
    async with browser(stage.heddle.url) as client:
        body = question("everything", tools=[ALARM], stream=stream)
        answer = await client.post("/v1/chat/completions", json=body)

    assert answer.status_code == 200
    assert "Three " in answer.text
    assert "sheds." in answer.text
    first, second = upstream.bodies
    for body in (first, second):
        assert [tool["function"]["name"] for tool in body["tools"]] == ["alarm", "add"]
        assert body["tool_choice"] == "auto"
        [message] = [message for message in body["messages"] if message["role"] == "user"]
        text, picture = message["content"]
        assert "<sheds>" in text["text"]
        assert text["text"].rstrip().endswith("sheds")
        assert picture["image_url"] == {"url": PICTURE, "detail": "low"}
    assert [message["role"] for message in second["messages"][-2:]] == ["assistant", "tool"]
    assert '"sum": 3' in second["messages"][-1]["content"]


async def test_without_functions_the_model_is_told_nothing_of_them(stage: Stage) -> None:
    upstream = stage.follow(SCRIPT)
    async with browser(stage.heddle.url) as client:
        await client.post("/v1/chat/completions", json=question("plain"))

    [body] = upstream.bodies
    assert not {"tools", "tool_choice", "parallel_tool_calls", "functions"} & set(body)
