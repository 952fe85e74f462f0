"""An agent from end to end: HTTP in, decisions, tools of a mounted folder, an answer out."""

import json
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest
from heddle_tools_service.sdk import Response, Result
from integration.browser import browser
from integration.whole import whole, write_assistant

ROOT = Path(__file__).parents[2]
AGENT = """
strategy: agent_rules
model: {connector: bypass, model: simple-bypass}
tools:
  - {type: guide_passages, mode: agent}
  - {type: guide_figures, mode: agent}
  - {type: look_at_figure, mode: agent}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "examples" / "plugins", tmp_path / "plugins")
    return tmp_path


def body(words: str, **more: Any) -> dict[str, Any]:
    return {"model": "7", "messages": [{"role": "user", "content": words}], **more}


async def stream_answer(client: httpx.AsyncClient, words: str) -> tuple[list[dict[str, Any]], str]:
    """Return the chunks of a streamed answer, and its text."""
    answer = await client.post("/v1/chat/completions", json=body(words, stream=True))
    data = "data: "  # between such lines stand comments that keep the connection open
    lines = [line.removeprefix(data) for line in answer.text.splitlines() if line.startswith(data)]
    chunks = [json.loads(line) for line in lines if line != "[DONE]"]
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
    return chunks, "".join(delta.get("content") or "" for delta in deltas)


async def streamed(folder: Path, words: str) -> tuple[list[dict[str, Any]], str]:
    async with whole(folder) as running, browser(running.url, timeout=60) as client:
        return await stream_answer(client, words)


async def test_an_agent_searches_and_answers_with_what_it_found(folder: Path) -> None:
    write_assistant(folder, "7", AGENT)

    chunks, text = await streamed(folder, "Which figure shows the heddles?")

    assert "(Loom guide, page 4) Figure 1 shows the loom" in text
    happened = [chunk["heddle"] for chunk in chunks if "heddle" in chunk]
    chosen = [
        choice["tool"]
        for each in happened
        if each["type"] == "decision"
        for choice in each["data"]["choices"]
    ]
    assert chosen == ["guide_figures", "text_response"]
    [response] = [each["data"] for each in happened if each["data"].get("type") == "response"]
    assert response["payload"]["sources"][0] == {"page": 4, "manual": "Loom guide"}


PROVERBS = """
strategy: agent_rules
model: {connector: bypass, model: simple-bypass}
tools:
  - {type: proverbs, mode: agent}
"""


def beside(chunks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what happened in a run, without what differs between two runs."""
    happened = [chunk["heddle"] for chunk in chunks if "heddle" in chunk]
    for each in happened:
        for name in ("query_id", "request_id"):
            each["data"].pop(name, None)
        for ran in each["data"].get("tools", ()):
            del ran["seconds"]
    return happened


async def test_answers_tell_what_happened_alike_streamed_and_whole_and_as_the_sdk_does(
    folder: Path,
) -> None:
    write_assistant(folder, "7", PROVERBS)
    question = "Which proverb speaks of cloth?"
    async with whole(folder) as running, browser(running.url, timeout=60) as client:
        chunks, text = await stream_answer(client, question)
        answers = [
            (await client.post(path, json=body(question))).json()
            for path in ("/v1/chat/completions", "/lamb/v1/completions?assistant=7")
        ]

    [query_id] = {c["heddle"]["data"]["query_id"] for c in chunks if "query_id" in str(c)}
    proverb = {"text": "Cut your coat according to your cloth.", "manual": "Proverbs", "page": 2}
    result = Result([proverb], "proverbs", {"count": 1}, "Found 1 proverbs.", tool="proverbs")
    response = Response(text, [{"page": 2, "manual": "Proverbs"}])
    outputs = [c["heddle"]["data"] for c in chunks if c.get("heddle", {}).get("type") == "output"]
    assert outputs == [each.to_frontend(query_id) for each in (result, response)]

    streamed = beside(chunks)
    assert [each["type"] for each in streamed] == [*(["decision", "output"] * 2), "report"]
    for answer in answers:
        assert answer["choices"][0]["message"]["content"] == text
        assert beside([{"heddle": each} for each in answer["heddle"]]) == streamed


@pytest.mark.exhaustive
@pytest.mark.skipif(find_spec("xllamacpp") is None, reason="the embedded model is not installed")
async def test_the_embedded_model_chooses_by_labels(folder: Path) -> None:
    model = "{connector: local, model: smollm2-135m-instruct}"
    bypass = "{connector: bypass, model: simple-bypass}"
    agent = AGENT.replace("agent_rules", "agent").replace(bypass, model)
    write_assistant(folder, "7", agent)

    chunks, _ = await streamed(folder, "Show me a drawing of the loom")

    [first, *_] = [chunk["heddle"]["data"] for chunk in chunks if "heddle" in chunk]
    assert first["router"] == "label"
    assert first["choices"][0]["tool"] == "guide_figures"
