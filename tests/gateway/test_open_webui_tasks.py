"""Requests of Open WebUI for itself, prompts that are shown, and budgets that are used up."""

from typing import Any

import httpx
import pytest
from gateway.conftest import Bench, Start
from gateway.library import TUTOR, Library
from gateway.tasks import METADATA, PROMPT, TITLE
from heddle_gateway.app import GatewaySettings
from heddle_runtime.errors import QuotaExceededError, ResourceExhaustedError
from heddle_runtime.identity.callers import Identity
from pydantic import ValidationError


@pytest.mark.parametrize(
    "body",
    [
        TITLE,
        {**TITLE, "metadata": METADATA},
        {**TITLE, "metadata": METADATA, "stream": True},
        {**TITLE, "metadata": METADATA, "messages": [{"role": "user", "content": "Tags?"}]},
        {**TITLE, "tools": [{"type": "function", "function": {"name": "search"}}]},
    ],
    ids=["prompt", "metadata", "streamed", "other-words", "functions"],
)
async def test_a_task_goes_to_the_small_model_without_tools(
    start: Start, body: dict[str, Any]
) -> None:
    async with start("rpc", small_model="ollama/tiny/1b") as bench:
        response = await bench.client.post("/v1/chat/completions", json=body)
        assert response.status_code == 200
        asked = bench.orchestrator.requests[0]
        assert asked.WhichOneof("target") == "assistant"
        assert asked.charged_to == "1"
        assert (asked.assistant.model.connector, asked.assistant.model.model) == (
            "ollama",
            "tiny/1b",
        )
        assert not asked.assistant.tools
        assert not asked.assistant.prompt_template
        assert not asked.assistant.system_prompt
        assert not asked.functions
        assert "metadata" not in asked.options.extra_json
        if not body["stream"]:
            assert response.json()["model"] == "lamb_assistant.1"


async def test_a_task_without_a_small_model_goes_to_the_assistants_own(
    scripted_shelf: Library,
) -> None:
    shelf = scripted_shelf
    made = (await shelf["ana"].post("/assistants", json=TUTOR)).json()
    body = {**TITLE, "model": f"lamb_assistant.{made['id']}"}
    assert (await shelf["ana"].post("/v1/chat/completions", json=body)).status_code == 200
    asked = shelf.neighbours.orchestrator.requests[0].assistant
    assert (asked.model.connector, asked.model.model) == ("openai", "gpt-x")
    assert (list(asked.tools), asked.prompt_template, asked.system_prompt) == ([], "", "")


async def test_a_task_needs_an_assistant_that_the_caller_may_use(scripted_shelf: Library) -> None:
    shelf = scripted_shelf
    made = (await shelf["ana"].post("/assistants", json=TUTOR)).json()
    body = {**TITLE, "model": f"lamb_assistant.{made['id']}"}
    response = await shelf["eve"].post("/v1/chat/completions", json=body)
    assert (response.status_code, response.json()["error"]["code"]) == (404, "model_not_found")
    assert not shelf.neighbours.orchestrator.requests


@pytest.mark.parametrize(
    "change",
    [
        {"messages": [{"role": "user", "content": "What does ### Task:\n mean?"}]},
        {"messages": [{"role": "user", "content": "hi"}, *TITLE["messages"]]},
        {"stream": True},
        {"metadata": {"task": ""}},
        {"metadata": {"task": 5}},
    ],
)
async def test_what_people_say_is_no_task(bench: Bench, change: dict[str, Any]) -> None:
    body = {**TITLE, "messages": [{"role": "user", "content": "hi"}]}
    if "stream" in change:
        body = TITLE
    response = await bench.client.post("/v1/chat/completions", json={**body, **change})
    assert response.status_code == 200
    assert bench.orchestrator.requests[0].assistant_reference == "lamb_assistant.1"


async def test_a_title_costs_no_tool_anywhere_in_heddle(operator: httpx.AsyncClient) -> None:
    assistant = {
        "name": "counting",
        "model": {"connector": "bypass", "model": "full-conversation-bypass"},
        "prompt_template": "Words: {word_count} Question: {user_input}",
        "system_prompt": "Be kind.",
        "tools": [{"type": "word_count"}],
    }
    created = await operator.post("/assistants", json=assistant)
    assert created.status_code == 201, created.text
    plain = {"model": f"lamb_assistant.{created.json()['id']}", "messages": TITLE["messages"]}
    path = "/v1/chat/completions"
    answered = await operator.post(path, json={**plain, "metadata": METADATA})
    assert answered.json()["choices"][0]["message"]["content"] == f"user: {PROMPT}"
    hi = [{"role": "user", "content": "hi"}]
    usual = await operator.post(path, json={**plain, "messages": hi})
    assert "Words: " in usual.json()["choices"][0]["message"]["content"]


@pytest.mark.parametrize("model", ["tiny", "/tiny", "ollama/", "Ollama/tiny"])
def test_a_small_model_is_written_with_its_connector(model: str) -> None:
    with pytest.raises(ValidationError, match="small_model"):
        GatewaySettings(development=True, small_model=model)


async def test_the_prompt_is_shown_to_those_who_may_change_the_assistant(
    scripted_shelf: Library,
) -> None:
    shelf = scripted_shelf
    made = (await shelf["ana"].post("/assistants", json={**TUTOR, "published": True})).json()
    path = f"/creator/assistant/{made['id']}/chat/completions"
    body = {"messages": [{"role": "user", "content": "hi"}], "debug_bypass": True}
    for who in ("ana", "head", "root"):
        assert (await shelf[who].post(path, json=body)).status_code == 200
        asked = shelf.neighbours.orchestrator.requests[-1].assistant
        assert (asked.model.connector, asked.model.model) == ("bypass", "debug-bypass")
        assert [tool.id for tool in asked.tools] == ["notes", "weather"]
        # The tools read what the owner may read, whoever looks.
        assert asked.owner == "ana@example.org"
        asker = shelf.neighbours.orchestrator.callers[-1].identity
        assert asker == Identity("heddle-gateway", scopes=("service",))
    refused = await shelf["ben"].post(path, json=body)
    assert (refused.status_code, "detail" in refused.json()) == (403, True)
    assert (await shelf["eve"].post(path, json=body)).status_code == 404
    assert len(shelf.neighbours.orchestrator.requests) == 3


async def test_the_public_endpoints_show_no_prompt(bench: Bench) -> None:
    assert (await bench.chat(debug_bypass=True, chat_id="c-1")).status_code == 200
    asked = bench.orchestrator.requests[0]
    assert asked.assistant_reference == "lamb_assistant.1"
    assert asked.options.extra_json == ""


async def test_an_assistant_is_tried_out_under_lambs_path(bench: Bench) -> None:
    body = {"messages": [{"role": "user", "content": "hi"}]}
    path = "/creator/assistant/7/chat/completions"
    response = await bench.client.post(path, json=body)
    assert response.json()["model"] == "lamb_assistant.7"
    assert bench.orchestrator.requests[0].assistant_reference == "lamb_assistant.7"
    bench.orchestrator.script = [ResourceExhaustedError("Full.")]
    failed = await bench.client.post(path, json=body)
    assert (failed.status_code, failed.json()["detail"]) == (429, "Full.")


@pytest.mark.parametrize("stream", [False, True])
async def test_an_assistant_whose_budget_is_used_up_says_so(bench: Bench, stream: bool) -> None:
    bench.orchestrator.script = [QuotaExceededError("The budget is used up.")]
    response = await bench.chat(stream=stream)
    told = response.json()["error"]
    assert response.status_code == 429
    assert (told["type"], told["code"]) == ("quota_exceeded", "assistant_quota_exceeded")
    assert response.headers["x-should-retry"] == "false"
