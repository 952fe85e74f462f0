"""Functions, tools that fill the prompt, and pictures in one request over HTTP; or none of them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from integration.functions.toolbox import PLUGIN
from integration.functions.upstream import Upstream, calls, says, scripted
from integration.whole import whole, write_assistant

PICTURE = "data:image/png;base64,iVBORw0KGgo="
ALARM = {"type": "function", "function": {"name": "alarm", "parameters": {"type": "object"}}}
MODEL = "model: {connector: openai, model: scripted}\n"
EVERYTHING = f"""{MODEL}
prompt_template: 'Known: {{shelf}} Asked: {{user_input}}'
capabilities: {{vision: true}}
tools:
  - {{type: library, slot: shelf}}
  - {{type: adder, mode: function}}
"""
SCRIPT = [[calls("add", '{"a": 2}')], [says("Three "), says("sheds.")]]


@asynccontextmanager
async def asking(
    folder: Path, monkeypatch: pytest.MonkeyPatch, assistant: str
) -> AsyncIterator[tuple[httpx.AsyncClient, Upstream]]:
    (folder / "plugins").mkdir()
    (folder / "plugins" / "toolbox.py").write_text(PLUGIN)
    write_assistant(folder, "1", assistant)
    async with scripted(SCRIPT) as upstream:
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", upstream.url)
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_API_KEY", "test")
        async with whole(folder) as heddle, httpx.AsyncClient(base_url=heddle.url) as client:
            yield client, upstream


def question(**more: Any) -> dict[str, Any]:
    content = [
        {"type": "text", "text": "sheds"},
        {"type": "image_url", "image_url": {"url": PICTURE, "detail": "low"}},
    ]
    messages = [{"role": "user", "content": content}]
    return {"model": "lamb_assistant.1", "messages": messages, **more}


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
async def test_all_of_it_reaches_the_model_in_every_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, stream: bool
) -> None:
    async with asking(tmp_path, monkeypatch, EVERYTHING) as (client, upstream):
        body = question(tools=[ALARM], stream=stream)
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


async def test_without_functions_the_model_is_told_nothing_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asking(tmp_path, monkeypatch, MODEL) as (client, upstream):
        await client.post("/v1/chat/completions", json=question())

    [body] = upstream.bodies
    assert not {"tools", "tool_choice", "parallel_tool_calls", "functions"} & set(body)
