"""Providers answer in many forms that OpenAI's does not have. None of them ends an answer.

Each file in `golden/answers` has what a provider sends, as events or as a body, and what the caller
receives: text, reasoning, calls (id, name, arguments), the reason of the end and the token counts,
or an error after the text.
"""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import grpc
import pytest
from heddle.chat.v1 import chat_pb2 as chat
from heddle_runtime.errors import from_rpc

from connector.provider import Exchange, provider
from connector.service import Stub, as_whole, asked, responses, service

CASES = [
    json.loads(path.read_text())
    for path in sorted((Path(__file__).parent / "golden" / "answers").iterdir())
]
STALL_SECONDS = 0.8
"""Longer than a pause in a case, and shorter than all pauses of a case."""
REASONS = {
    chat.FINISH_REASON_STOP: "stop",
    chat.FINISH_REASON_LENGTH: "length",
    chat.FINISH_REASON_TOOL_CALLS: "tool_calls",
    chat.FINISH_REASON_CONTENT_FILTER: "content_filter",
    chat.FINISH_REASON_UNSPECIFIED: "unknown",
}
FUNCTIONS = [chat.FunctionDeclaration(name=name) for name in ("f", "g", "now", "get_weather")]


def sent(event: Any) -> bytes:
    return base64.b64decode(event["base64"]) if isinstance(event, dict) else event.encode()


async def reply(exchange: Exchange, case: dict[str, Any]) -> None:
    if "body" in case:
        await exchange.reply(200, json.dumps(case["body"]))
        return
    exchange.begin()
    for event in case["events"]:
        if "pause" in event and isinstance(event, dict):
            await asyncio.sleep(event["pause"])  # what the provider does, not what the test awaits
        else:
            await exchange.send(sent(event))
    await exchange.end()


async def received(stub: Stub, case: dict[str, Any]) -> dict[str, Any]:
    """Return what the caller of a case receives, in the form of `expected`."""
    request = asked(model=case["case"], functions=FUNCTIONS)
    whole = case.get("request") == "whole"
    events, error = [], ""
    try:
        async for batch in responses(stub, as_whole(request) if whole else request, 10):
            events += batch
    except grpc.aio.AioRpcError as failure:
        error = from_rpc(failure).reason
    done = [event.done for event in events if event.HasField("done")]
    calls = [event.tool_call for event in events if event.HasField("tool_call")]
    values = {
        "text": "".join(event.text_delta for event in events),
        "reasoning": "".join(event.reasoning_delta for event in events),
        "calls": [[call.id, call.name, call.arguments_json] for call in calls],
        "warnings": sum(event.HasField("warning") for event in events),
        "error": error.lower(),
        "finish": "".join(REASONS[each.finish_reason] for each in done),
        "usage": [
            [each.usage.prompt_tokens, each.usage.completion_tokens]
            for each in done
            if each.HasField("usage")
        ],
    }
    return {name: value for name, value in values.items() if value}


def in_full(case: dict[str, Any], calls: list[list[str]]) -> dict[str, Any]:
    """Return what is expected; an id of a call that Heddle chooses is the received one."""
    expected = {**case["expected"]}
    if "usage" in expected:
        expected["usage"] = [expected["usage"]]
    if "calls" in expected:
        ids = [call[0] for call in calls] + [""] * len(expected["calls"])
        expected["calls"] = [
            [ids[number] if call[0] is None else call[0], *call[1:]]
            for number, call in enumerate(expected["calls"])
        ]
    return expected


async def test_no_odd_form_of_an_answer_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    by_name = {case["case"]: case for case in CASES}

    async def script(exchange: Exchange) -> None:
        await reply(exchange, by_name[exchange.json["model"]])

    async def difference(stub: Stub, case: dict[str, Any]) -> Any:
        values = await received(stub, case)
        expected = in_full(case, values.get("calls", []))
        return None if values == expected else {"received": values, "expected": expected}

    async with provider(script) as running:
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", f"{running.url}/v1")
        async with service(stall_seconds=STALL_SECONDS) as stub:
            found = await asyncio.gather(*(difference(stub, case) for case in CASES))
    differences = {case["case"]: each for case, each in zip(CASES, found, strict=True) if each}
    assert not differences, json.dumps(differences, indent=1, ensure_ascii=False)
    assert len(CASES) > 60
