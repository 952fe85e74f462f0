"""What becomes of the answers of Anthropic's Messages API, streamed and whole."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from heddle.chat.v1 import chat_pb2 as chat

from connector.anthropic_api import (
    KEY,
    MODEL,
    ask,
    block,
    claude,
    end,
    event,
    message,
    messages_api,
    start,
    text,
    thinking,
    tool_use,
)
from connector.provider import streaming
from connector.service import answer, as_whole, events
from connector.service import said as text_message

FUNCTION = chat.FunctionDeclaration(
    name="weather", description="The weather.", parameters_schema_json='{"type":"object"}'
)
REDACTED = {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix"}
CITY = {"city": "Bilbao", "days": [1, 2.5], "exact": True}
CALLS = [
    start(cache_read_input_tokens=100, cache_creation_input_tokens=7),
    event("ping"),
    *thinking(0, "Let me ", "see.", signature="EqQB"),
    *block(1, REDACTED),
    *text(2, "I look ", "it up."),
    *tool_use(
        3, "toolu_01", "weather", "", '{"city": "Bilbao", "da', 'ys": [1, 2.5], "exact": true}'
    ),
    *tool_use(4, "toolu_02", "weather", ""),
    end("tool_use", usage={"output_tokens_details": {"thinking_tokens": 11}}),
]
WHOLE_CALLS = message(
    {"type": "thinking", "thinking": "Let me see.", "signature": "EqQB"},
    REDACTED,
    {"type": "text", "text": "I look it up."},
    {"type": "tool_use", "id": "toolu_01", "name": "weather", "input": CITY},
    {"type": "tool_use", "id": "toolu_02", "name": "weather", "input": {}},
    reason="tool_use",
    usage={
        "input_tokens": 25,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 7,
        "output_tokens": 15,
        "output_tokens_details": {"thinking_tokens": 11},
    },
)
whole_and_streamed = pytest.mark.parametrize("whole", [False, True], ids=["streamed", "whole"])


def kinds(received: Any) -> list[str]:
    return [each.WhichOneof("event") for each in received]


@pytest.mark.parametrize("size", [1, 9, 100_000])
async def test_a_stream_becomes_events_whatever_its_pieces(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = b"".join([start(), event("ping"), *text(0, "Hel", "lo  wörld"), end()])
    pieces = [stream[i : i + size] for i in range(0, len(stream), size)]
    async with claude(messages_api(*pieces), monkeypatch) as (stub, api):
        received = await events(stub, ask())
    assert set(kinds(received[:-1])) == {"text_delta"}
    assert answer(received) == "Hello  wörld"
    assert received[-1].done == chat.Done(
        finish_reason=chat.FINISH_REASON_STOP,
        usage=chat.Usage(prompt_tokens=25, completion_tokens=15),
        model=MODEL,
        provider_metadata_json='{"id":"msg_01"}',
    )
    [exchange] = api.exchanges
    assert (exchange.method, exchange.path) == ("POST", "/v1/messages")
    assert exchange.headers["x-api-key"] == KEY
    assert exchange.headers["anthropic-version"] == "2026-10-21"
    assert "authorization" not in exchange.headers


async def test_pieces_arrive_when_they_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = [start(), *text(0, "one", "two"), end()]
    async with claude(messages_api(*pieces), monkeypatch) as (stub, _):
        received = await events(stub, ask())
    assert [each.text_delta for each in received[:-1]] == ["one", "two"]


@whole_and_streamed
async def test_reasoning_and_parallel_calls_become_events(
    monkeypatch: pytest.MonkeyPatch, *, whole: bool
) -> None:
    script = messages_api(*CALLS, whole=WHOLE_CALLS)
    async with claude(script, monkeypatch) as (stub, api):
        request = ask(functions=[FUNCTION])
        received = await events(stub, as_whole(request) if whole else request)
    assert api.exchanges[0].json.get("stream") is (None if whole else True)
    reasoning = "".join(each.reasoning_delta for each in received)
    assert (reasoning, answer(received)) == ("Let me see.", "I look it up.")
    calls = [each.tool_call for each in received if each.HasField("tool_call")]
    assert [(call.id, call.name) for call in calls] == [
        ("toolu_01", "weather"),
        ("toolu_02", "weather"),
    ]
    assert [json.loads(call.arguments_json) for call in calls] == [CITY, {}]
    done = received[-1].done
    assert done.finish_reason == chat.FINISH_REASON_TOOL_CALLS
    assert done.usage == chat.Usage(
        prompt_tokens=132, completion_tokens=15, cached_tokens=100, reasoning_tokens=11
    )


@whole_and_streamed
async def test_an_answer_with_reasoning_and_calls_comes_back_unchanged(
    monkeypatch: pytest.MonkeyPatch, *, whole: bool
) -> None:
    script = messages_api(*CALLS, whole=WHOLE_CALLS)
    async with claude(script, monkeypatch) as (stub, api):
        request = ask(functions=[FUNCTION])
        received = await events(stub, as_whole(request) if whole else request)
        calls = [each.tool_call for each in received if each.HasField("tool_call")]
        results = [
            chat.Message(
                role=chat.ROLE_TOOL, tool_call_id=call.id, parts=[chat.ContentPart(text="Rain.")]
            )
            for call in reversed(calls)
        ]
        earlier = chat.Message(
            role=chat.ROLE_ASSISTANT,
            parts=[chat.ContentPart(text=answer(received))],
            tool_calls=calls,
            extra_json=received[-1].done.message_extra_json,
        )
        messages = [text_message("The weather?"), earlier, *results]
        await events(stub, ask(messages=messages, functions=[FUNCTION]))
    assert api.exchanges[1].json["messages"][1] == {
        "role": "assistant",
        "content": json.loads(WHOLE_CALLS)["content"],
    }


@whole_and_streamed
@pytest.mark.parametrize(
    ("functions", "content"),
    [
        ([], [*thinking(0, "Hm."), *text(1, "Hi")]),
        ([FUNCTION], [*thinking(0, "Hm."), *text(1, "Hi")]),
        ([FUNCTION], [*text(0, "Hi"), *tool_use(1, "toolu_01", "weather", "{}")]),
    ],
    ids=["no functions", "no calls", "no reasoning"],
)
async def test_only_reasoning_before_calls_has_to_come_back(
    functions: list[chat.FunctionDeclaration],
    content: list[bytes],
    monkeypatch: pytest.MonkeyPatch,
    *,
    whole: bool,
) -> None:
    reply = message({"type": "text", "text": "Hi"})
    script = messages_api(start(), *content, end(), whole=reply)
    async with claude(script, monkeypatch) as (stub, _):
        request = ask(functions=functions)
        received = await events(stub, as_whole(request) if whole else request)
    assert received[-1].done.message_extra_json == ""


REFUSAL = {"type": "refusal", "category": "bio", "explanation": "This may cause harm."}


@whole_and_streamed
@pytest.mark.parametrize(
    ("reason", "expected", "metadata"),
    [
        ("end_turn", chat.FINISH_REASON_STOP, {}),
        ("stop_sequence", chat.FINISH_REASON_STOP, {"stop_reason": "stop_sequence"}),
        ("max_tokens", chat.FINISH_REASON_LENGTH, {}),
        (
            "model_context_window_exceeded",
            chat.FINISH_REASON_LENGTH,
            {"stop_reason": "model_context_window_exceeded"},
        ),
        ("pause_turn", chat.FINISH_REASON_LENGTH, {"stop_reason": "pause_turn"}),
        ("refusal", chat.FINISH_REASON_CONTENT_FILTER, {"stop_reason": "refusal"}),
    ],
)
async def test_reasons_for_the_end_become_openais(
    reason: str,
    expected: chat.FinishReason.ValueType,
    metadata: Mapping[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    *,
    whole: bool,
) -> None:
    reply = message({"type": "text", "text": "Hi"}, reason=reason)
    script = messages_api(start(), *text(0, "Hi"), end(reason), whole=reply)
    async with claude(script, monkeypatch) as (stub, _):
        received = await events(stub, as_whole(ask()) if whole else ask())
    assert answer(received) == "Hi"
    assert received[-1].done.finish_reason == expected
    assert json.loads(received[-1].done.provider_metadata_json) == {"id": "msg_01", **metadata}


async def test_a_reason_that_the_api_adds_later_is_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    late = end().replace(b"end_turn", b"asleep")
    async with claude(streaming(start(), *text(0, "Hi"), late), monkeypatch) as (stub, _):
        received = await events(stub, ask())
    assert received[-1].done.finish_reason == chat.FINISH_REASON_UNSPECIFIED
    assert '"stop_reason":"asleep"' in received[-1].done.provider_metadata_json


@whole_and_streamed
async def test_a_refusal_without_text_explains_itself(
    monkeypatch: pytest.MonkeyPatch, *, whole: bool
) -> None:
    reply = message(reason="refusal", stop_details=REFUSAL)
    script = messages_api(start(), end("refusal", stop_details=REFUSAL), whole=reply)
    async with claude(script, monkeypatch) as (stub, _):
        received = await events(stub, as_whole(ask()) if whole else ask())
    assert answer(received) == "This may cause harm."
    assert json.loads(received[-1].done.provider_metadata_json)["stop_details"] == REFUSAL


async def test_a_call_that_is_cut_off_keeps_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    script = messages_api(
        start(), *thinking(0, "Hm."), *tool_use(1, "toolu_01", "weather", '{"ci'), end("max_tokens")
    )
    async with claude(script, monkeypatch) as (stub, _):
        received = await events(stub, ask(functions=[FUNCTION]))
    [call] = [each.tool_call for each in received if each.HasField("tool_call")]
    assert call.arguments_json == '{"ci'
    assert received[-1].done.finish_reason == chat.FINISH_REASON_LENGTH
    assert '"input":{}' in received[-1].done.message_extra_json


async def test_kinds_that_the_api_adds_later_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    melody = {"type": "content_block_start", "index": 0, "content_block": {"type": "melody"}}
    note = {"type": "content_block_delta", "index": 0, "delta": {"type": "note", "pitch": 3}}
    later = [f"data: {json.dumps(each)}\n\n".encode() for each in ({"type": "x"}, melody, note)]
    script = streaming(start(), *later, *text(1, "Hi"), end())
    async with claude(script, monkeypatch) as (stub, _):
        received = await events(stub, ask())
    assert answer(received) == "Hi"


async def test_a_stream_whose_last_event_is_missing_is_complete_if_its_reason_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    last, _ = end("tool_use").split(event("message_stop"))
    *unfinished, _ = tool_use(0, "toolu_01", "weather", '{"city": "Bilbao"}')
    script = streaming(start(), *unfinished, last)
    async with claude(script, monkeypatch) as (stub, _):
        call, done = await events(stub, ask(functions=[FUNCTION]))
    assert call.tool_call.arguments_json == '{"city": "Bilbao"}'
    assert done.done.finish_reason == chat.FINISH_REASON_TOOL_CALLS


async def test_the_providers_own_client_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fake API speaks as the real one: Anthropic's client accepts it."""
    async with claude(messages_api(*CALLS, whole=WHOLE_CALLS), monkeypatch) as (stub, api):
        received = await events(stub, ask(functions=[FUNCTION]))
        sent: Any = {
            "model": MODEL,
            "max_tokens": 99,
            "messages": [{"role": "user", "content": [{"type": "text", "text": "The weather?"}]}],
        }
        headers = {"x-api-key": KEY}
        async with AsyncAnthropic(base_url=api.url, api_key=KEY, default_headers=headers) as client:
            async with client.messages.stream(**sent) as stream:
                theirs = await stream.get_final_message()
            whole = await client.messages.create(**sent)
    content = [each.model_dump(exclude_none=True) for each in theirs.content]
    extra = json.loads(received[-1].done.message_extra_json)
    assert content == extra["anthropic_content"] == json.loads(WHOLE_CALLS)["content"]
    assert content == [each.model_dump(exclude_none=True) for each in whole.content]
    usage = theirs.usage
    assert received[-1].done.usage.completion_tokens == usage.output_tokens
    assert received[-1].done.usage.cached_tokens == usage.cache_read_input_tokens
