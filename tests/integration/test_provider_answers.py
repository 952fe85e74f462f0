"""Odd answers of providers reach clients of the gateway whole, streamed and not."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from connector.provider import Exchange, provider
from connector.test_provider_answers import CASES, reply
from integration.whole import Transport, whole, write_assistant

BY_NAME = {case["case"]: case for case in CASES if "pause" not in json.dumps(case)}
TOOLS = [{"type": "function", "function": {"name": name}} for name in ("f", "now", "get_weather")]


def content(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the texts, the calls, the reason and the usage of the chunks of one answer."""
    choices = [choice for chunk in chunks for choice in chunk.get("choices", ())]
    deltas = [choice.get("delta") or choice.get("message") or {} for choice in choices]
    calls = [call["function"] for delta in deltas for call in delta.get("tool_calls") or ()]
    usages = [chunk["usage"] for chunk in chunks if chunk.get("usage")]
    return {
        "text": "".join(delta.get("content") or "" for delta in deltas),
        "reasoning": "".join(delta.get("reasoning_content") or "" for delta in deltas),
        "calls": [[call["name"], call["arguments"]] for call in calls],
        "finish": "".join(choice.get("finish_reason") or "" for choice in choices),
        "usage": [[each["prompt_tokens"], each["completion_tokens"]] for each in usages],
        "error": any("error" in chunk for chunk in chunks),
    }


def differs(received: dict[str, Any], expected: dict[str, Any], *, whole_request: bool) -> bool:
    if whole_request and "error" in expected:
        return not received["error"]
    calls = [call[1:] for call in expected.get("calls", [])]
    values = {
        "text": expected.get("text", ""),
        "reasoning": expected.get("reasoning", ""),
        "calls": calls,
        "finish": expected.get("finish", ""),
        "error": "error" in expected,
    }
    if "usage" in expected:
        values["usage"] = [expected["usage"]]
    return any(received[name] != value for name, value in values.items())


@pytest.mark.parametrize("transport", ["local", "grpc"])
async def test_odd_answers_reach_the_client_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transport: Transport
) -> None:
    async def script(exchange: Exchange) -> None:
        await reply(exchange, BY_NAME[exchange.json["messages"][-1]["content"]])

    write_assistant(tmp_path, "4", "model: {connector: openai, model: quick}\n")
    wrong = {}
    async with provider(script) as running:
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", f"{running.url}/v1")
        async with (
            whole(tmp_path, transport) as heddle,
            httpx.AsyncClient(base_url=heddle.url, timeout=30) as client,
        ):
            for number, (name, case) in enumerate(BY_NAME.items()):
                whole_request = case.get("request") == "whole"
                if number % (3 if transport == "local" else 6):  # a sample
                    continue
                body: dict[str, Any] = {
                    "model": "4",
                    "messages": [{"role": "user", "content": name}],
                }
                body |= {"tools": TOOLS, "stream": not whole_request}
                body |= {} if whole_request else {"stream_options": {"include_usage": True}}
                response = await client.post("/v1/chat/completions", json=body)
                chunks = (
                    [response.json()]
                    if whole_request or response.status_code != httpx.codes.OK
                    else [
                        json.loads(line[6:])
                        for line in response.text.split("\n")
                        if line.startswith("data: {")
                    ]
                )
                received = content(chunks)
                if differs(received, case["expected"], whole_request=whole_request):
                    wrong[name] = (received, case["expected"])
    assert not wrong, json.dumps(wrong, indent=1, ensure_ascii=False)
