"""All of Heddle, with assistants whose model answers with its prompt."""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from integration.browser import browser
from integration.whole import whole, write_assistant

PLUGIN = '''
from heddle_tools_service.sdk import ToolCall, ToolConfig, ToolResult, tool
from pydantic import Field

class Text(ToolConfig):
    text: str = Field(default="", description="The text.")
    times: int = Field(default=1, description="How often it is repeated.")

@tool("quotes", title="Quotes", slot="context")
async def quotes(call: ToolCall[Text]) -> ToolResult:
    """Returns a text of the author."""
    return ToolResult(call.config.text * call.config.times)
'''


@asynccontextmanager
async def assistants(folder: Path, *documents: dict[str, Any]) -> AsyncGenerator[httpx.AsyncClient]:
    """Serve assistants with the numbers 1, 2, ...; their model is the prompt itself."""
    (folder / "plugins").mkdir()
    (folder / "plugins" / "quotes.py").write_text(PLUGIN)
    for number, document in enumerate(documents, 1):
        model = {"connector": "bypass", "model": "simple-bypass"}
        members = [f"{name}: {json.dumps(value)}\n" for name, value in document.items()]
        write_assistant(folder, str(number), f"model: {json.dumps(model)}\n{''.join(members)}")
    async with whole(folder) as heddle, browser(heddle.url) as client:
        yield client


def quotation(slot: str, text: str, times: int = 1) -> dict[str, Any]:
    """Return the binding of a tool that fills a slot with a text."""
    config = {"text": text, "times": times}
    return {"id": f"{slot}_{text[:1].isalpha()}", "type": "quotes", "slot": slot, "config": config}


async def prompt_of(client: httpx.AsyncClient, number: int, question: str) -> str:
    """Return the prompt that the model receives, the same for streamed and whole answers."""
    responses = [await ask(client, number, question, stream=stream) for stream in (False, True)]
    whole_answer, streamed = responses
    assert whole_answer.status_code == streamed.status_code == 200, whole_answer.text
    prompt = str(whole_answer.json()["choices"][0]["message"]["content"])
    assert "".join(deltas(streamed.text)) == prompt
    return prompt


async def ask(
    client: httpx.AsyncClient, number: int, question: str, *, stream: bool
) -> httpx.Response:
    body = {
        "model": f"lamb_assistant.{number}",
        "messages": [{"role": "user", "content": question}],
        "stream": stream,
    }
    return await client.post("/v1/chat/completions", json=body)


def deltas(stream: str) -> Sequence[str]:
    """Return the pieces of text of a streamed answer."""
    lines = [
        line.removeprefix("data: ") for line in stream.split("\n") if line.startswith("data: {")
    ]
    choices = [choice for line in lines for choice in json.loads(line).get("choices", ())]
    return [choice["delta"].get("content") or "" for choice in choices]
