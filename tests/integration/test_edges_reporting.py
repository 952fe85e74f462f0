"""What users and clients learn about tools that fail or find nothing, from separate processes.

Each row asks an assistant through the gateway, streamed and whole, and checks both answers.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from integration.browser import browser
from integration.processes import Processes, processes
from integration.whole import write_assistant
from runtime.examples import sampled
from runtime.ports import free_port

pytestmark = pytest.mark.asyncio(loop_scope="module")
TOOLS = '''
import asyncio
from heddle_tools_service.sdk import (
    Source, ToolCall, ToolConfig, ToolError, ToolResult, ToolUnavailableError, tool
)


class NapConfig(ToolConfig):
    """How long."""

    seconds: float = 0.0


@tool("nap", title="Nap", slot="nap")
async def nap(call: ToolCall[NapConfig]) -> ToolResult:
    """Waits."""
    call.status("napping")
    await asyncio.sleep(call.config.seconds)
    return ToolResult("Rested.", [Source("Nap")])


@tool("broken", title="Broken", slot="broken")
async def broken(call: ToolCall[NapConfig]) -> ToolResult:
    """Fails."""
    await asyncio.sleep(call.config.seconds)
    raise ToolUnavailableError("The library is closed.", diagnosis="library.example:4711 refuses")
'''
BYPASS = "model: {connector: bypass, model: full-conversation-bypass}\n"
QUESTION = "Where is the reed?"
NO_ANSWER = "I do not know."


@dataclass
class Answers:
    """The streamed and the whole answer to one question, with their logs."""

    chunks: list[dict[str, Any]]
    times: list[float]
    """When each chunk came, in seconds."""
    whole: dict[str, Any]
    headers: httpx.Headers
    log: str
    """Of the tools service."""

    @property
    def reports(self) -> list[dict[str, Any]]:
        """The reports of the streamed and the whole answer."""
        events = [*(chunk["heddle"] for chunk in self.chunks if "heddle" in chunk)]
        events += self.whole.get("heddle", [])
        return [event["data"] for event in events if event["type"] == "report"]

    @property
    def statuses(self) -> list[str]:
        return [
            chunk["event"]["data"]["description"]
            for chunk in self.chunks
            if chunk.get("event", {}).get("type") == "status"
        ]

    @property
    def sources(self) -> list[list[dict[str, Any]]]:
        streamed = [
            chunk["event"]["data"]
            for chunk in self.chunks
            if chunk.get("event", {}).get("type") == "source"
        ]
        return [streamed, self.whole.get("sources", [])]

    @property
    def texts(self) -> list[str]:
        deltas = [c["delta"].get("content", "") for chunk in self.chunks for c in chunk["choices"]]
        return ["".join(deltas), self.whole["choices"][0]["message"]["content"]]


def a_failed_tool_is_reported(answers: Answers) -> None:
    for report in answers.reports:
        [tool] = report["tools"]
        assert (tool["name"], tool["outcome"]) == ("broken", "failed")
        assert tool["error"]["message"] == "The library is closed."
        assert report["request_id"]
    assert len(answers.reports) == 2
    assert "broken failed: The library is closed." in answers.headers["x-heddle-warning"]
    assert answers.statuses[-1].startswith("failed: broken (request req_")
    assert any("(request req_" in status for status in answers.statuses)


def a_failed_tool_reports_its_duration(answers: Answers) -> None:
    assert len(answers.reports) == 2
    for report in answers.reports:
        assert 0.3 <= report["tools"][0]["seconds"] < 10


def addresses_are_in_the_log_only(answers: Answers) -> None:
    visible = json.dumps([answers.chunks, answers.whole, dict(answers.headers)])
    assert "library.example" not in visible
    [*_, line] = [each for each in answers.log.splitlines() if "4711 refuses" in each]
    event = json.loads(line)
    assert "library.example:4711 refuses" in event["diagnosis"]
    assert (event["tool"], event["assistant"]) == ("broken", "file-3")
    assert event["request_id"] in {each["request_id"] for each in answers.reports}


def progress_appears_when_it_happens(answers: Answers) -> None:
    status = next(n for n, chunk in enumerate(answers.chunks) if "napping" in json.dumps(chunk))
    assert answers.times[status] < answers.times[-1] - 0.2


def the_note_of_a_failed_tool_reaches_the_model(answers: Answers) -> None:
    for text in answers.texts:
        assert "[The tool broken failed: The library is closed." in text
        assert QUESTION in text


def a_missing_slot_is_reported(answers: Answers) -> None:
    for report, text, sources in zip(answers.reports, answers.texts, answers.sources, strict=True):
        assert any("has no {nap}" in warning for warning in report["warnings"])
        assert "has a result, but the prompt has no place for it" in text
        assert sources == []


def sources_have_excerpts(answers: Answers) -> None:
    for sources in answers.sources:
        assert [each["document"] for each in sources] == [["Rested."]]


def an_empty_search_is_named(answers: Answers) -> None:
    for report, text in zip(answers.reports, answers.texts, strict=True):
        [tool] = report["tools"]
        assert (tool["outcome"], tool["result_count"]) == ("empty", 0)
        assert f'A search of reeds for "{QUESTION}" found no passages.' in text
    assert answers.statuses[-1] == "found nothing: simple_rag"


def the_model_does_not_answer(answers: Answers) -> None:
    assert answers.texts == [NO_ANSWER] * 2


def an_agent_without_results_cites_nothing(answers: Answers) -> None:
    for events in (
        [chunk["heddle"] for chunk in answers.chunks if "heddle" in chunk],
        answers.whole["heddle"],
    ):
        outputs = [event["data"] for event in events if event["type"] == "output"]
        [response] = [each["payload"] for each in outputs if each["type"] == "response"]
        assert response["sources"] == []
    assert answers.sources == [[], []]
    for text in answers.texts:
        assert "found nothing about the question" in text


EMPTY = "tools: [{type: simple_rag, config: {collections: [reeds]}}]\n"
SEARCHING = "tools: [{type: fast_vector_search, mode: agent, config: {collections: [reeds]}}]\n"
TEMPLATE = "prompt_template: '{context}{nap}{broken}{user_input}'\n"
ROWS: dict[str, tuple[str, Callable[[Answers], None]]] = {
    "a failed tool": (f"tools: [{{type: broken}}]\n{TEMPLATE}", a_failed_tool_is_reported),
    "the duration of a failed tool": (
        f"tools: [{{type: broken, config: {{seconds: 0.3}}}}]\n{TEMPLATE}",
        a_failed_tool_reports_its_duration,
    ),
    "addresses": (f"tools: [{{type: broken}}]\n{TEMPLATE}", addresses_are_in_the_log_only),
    "progress": (
        "tools: [{type: broken, config: {seconds: 0.5}}, {type: nap}]\n" + TEMPLATE,
        progress_appears_when_it_happens,
    ),
    "a failure without a slot": (
        "tools: [{type: broken}]\nprompt_template: '{user_input}'\n",
        the_note_of_a_failed_tool_reaches_the_model,
    ),
    "a template without the slot": (
        "tools: [{type: nap}]\nprompt_template: '{user_input}'\n",
        a_missing_slot_is_reported,
    ),
    "excerpts": (f"tools: [{{type: nap}}]\n{TEMPLATE}", sources_have_excerpts),
    "an empty search": (f"{EMPTY}{TEMPLATE}", an_empty_search_is_named),
    "an answer without the model": (
        f"{EMPTY}{TEMPLATE}empty_response: {NO_ANSWER}\n",
        the_model_does_not_answer,
    ),
    "an agent without results": (
        f"strategy: agent_rules\n{SEARCHING}",
        an_agent_without_results_cites_nothing,
    ),
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def heddle(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Processes]:
    folder = tmp_path_factory.mktemp("edges")
    (folder / "plugins").mkdir()
    (folder / "plugins" / "library.py").write_text(TOOLS)
    for number, (document, _) in enumerate(ROWS.values(), start=1):
        write_assistant(folder, str(number), f"{BYPASS}{document}")
    async with processes(folder, HEDDLE_TOOLS_PLUGINS_DIR=str(folder / "plugins")) as running:
        async with browser(running.url, timeout=60) as client:
            created = await client.post("/v1/vector_stores", json={"name": "reeds"})
            created.raise_for_status()
        yield running


async def ask(heddle: Processes, assistant: int) -> Answers:
    body = {
        "model": f"lamb_assistant.{assistant}",
        "messages": [{"role": "user", "content": QUESTION}],
    }
    chunks: list[dict[str, Any]] = []
    times: list[float] = []
    clock = asyncio.get_running_loop().time
    path = "/v1/chat/completions"
    async with browser(heddle.url, timeout=60) as client:
        async with client.stream("POST", path, json={**body, "stream": True}) as response:
            async for line in response.aiter_lines():
                if line.startswith("data: {"):
                    chunks.append(json.loads(line.removeprefix("data: ")))
                    times.append(clock())
        whole = await client.post(path, json=body)
    log = heddle.log("heddle_tools_service")
    return Answers(chunks, times, whole.json(), whole.headers, log)


@pytest.mark.parametrize("row", sampled(ROWS, 3))
async def test_every_answer_reports_what_happened(heddle: Processes, row: str) -> None:
    _, check = ROWS[row]
    check(await ask(heddle, list(ROWS).index(row) + 1))


async def test_a_service_that_is_down_is_reported_without_its_address(tmp_path: Path) -> None:
    write_assistant(
        tmp_path, "1", "model: {connector: openai, model: m}\nprompt_template: '{user_input}'\n"
    )
    port = free_port()
    async with processes(
        tmp_path,
        HEDDLE_CONNECTOR_OPENAI_BASE_URL=f"http://127.0.0.1:{port}/v1",
        HEDDLE_CONNECTOR_OPENAI_API_KEY="test",
    ) as heddle:
        body = {
            "model": "lamb_assistant.1",
            "messages": [{"role": "user", "content": QUESTION}],
        }
        async with browser(heddle.url, timeout=60) as client:
            for stream in (True, False):
                response = await client.post(
                    "/v1/chat/completions", json={**body, "stream": stream}
                )
                assert "cannot be reached. Try again later." in response.text
                assert str(port) not in response.text
                assert "HEDDLE_" not in response.text
        assert f"127.0.0.1:{port}" in heddle.log("heddle_connector")
