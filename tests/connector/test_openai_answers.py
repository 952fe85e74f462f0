"""What comes back from an OpenAI-compatible provider."""

import asyncio
import json
from typing import Any

import pytest
from heddle.chat.v1 import chat_pb2 as chat
from heddle.connector.v1 import connector_pb2 as pb

from connector.provider import DONE, STOP, Exchange, chunk, streaming, text
from connector.service import (
    answer,
    as_whole,
    asked,
    batches,
    events,
    openai_at,
)

USAGE = {
    "prompt_tokens": 9,
    "completion_tokens": 4,
    "total_tokens": 13,
    "prompt_tokens_details": {"cached_tokens": 3},
    "completion_tokens_details": {"reasoning_tokens": 2},
}
USED = chat.Usage(prompt_tokens=9, completion_tokens=4, cached_tokens=3, reasoning_tokens=2)


def call_part(index: int | None, arguments: Any, **more: Any) -> dict[str, Any]:
    part = {
        "function": {"arguments": arguments}
        | ({"name": more.pop("name")} if "name" in more else {})
    }
    return part | more | ({} if index is None else {"index": index})


async def tool_calls(
    monkeypatch: pytest.MonkeyPatch, *parts: list[dict[str, Any]]
) -> list[chat.ToolCall]:
    pieces = [chunk({"tool_calls": part}) for part in parts]
    script = streaming(*pieces, chunk({}, "tool_calls"), DONE)
    async with openai_at(script, monkeypatch) as (stub, _):
        found = await events(stub, asked())
    assert found[-1].done.finish_reason == chat.FINISH_REASON_TOOL_CALLS
    return [event.tool_call for event in found[:-1]]


async def test_a_stream_becomes_events(monkeypatch: pytest.MonkeyPatch) -> None:
    script = streaming(
        chunk({"role": "assistant", "content": ""}),
        chunk({"reasoning_content": "Let me "}),
        chunk({"reasoning": "think."}),
        text("Hello"),
        text(", wörld 🧵"),
        chunk({}, "stop", system_fingerprint="fp_44"),
        b'data: {"choices":[],"usage":' + json.dumps(USAGE).encode() + b"}\n\n",
        DONE,
    )
    async with openai_at(script, monkeypatch) as (stub, _):
        found = await events(stub, asked())
    assert "".join(event.reasoning_delta for event in found) == "Let me think."
    assert answer(found) == "Hello, wörld 🧵"
    assert found[-1].done == chat.Done(
        finish_reason=chat.FINISH_REASON_STOP,
        usage=USED,
        model="gpt-x",
        provider_metadata_json='{"id":"chatcmpl-1"}',
    )


async def test_what_arrives_together_is_one_message_and_a_lone_token_goes_out_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fetched = asyncio.Event()

    async def script(exchange: Exchange) -> None:
        exchange.begin()
        await exchange.send(text("first"))
        await fetched.wait()  # the provider goes on only when the client has the first token
        await exchange.send(b"".join(map(text, "abc")) + STOP + DONE)
        await exchange.end()

    async with openai_at(script, monkeypatch) as (stub, _):
        found = []
        async for response in stub.GenerateMessage(asked(), timeout=5):
            found.append(list(response.events))
            fetched.set()
    assert [event.text_delta for event in found[0]] == ["first"]
    assert [event.WhichOneof("event") for event in found[1]] == ["text_delta", "done"]
    assert found[1][0].text_delta == "abc"
    assert len(found) == 2


async def test_a_whole_answer_is_asked_for_and_has_the_same_events(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    message = {
        "role": "assistant",
        "content": "Hello",
        "reasoning_content": "Hm.",
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x":1}'}},
            {"type": "function", "function": {"name": "g", "arguments": {"y": 2}}},
        ],
    }
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls", "logprobs": {"c": []}}

    async def script(exchange: Exchange) -> None:
        await exchange.reply(
            200, json.dumps({"model": "gpt-x-1", "choices": [choice], "usage": USAGE})
        )

    async with openai_at(script, monkeypatch) as (stub, provider):
        found = await batches(stub, as_whole(asked()))
    body = provider.exchanges[0].json
    assert "stream" not in body
    assert "stream_options" not in body
    (batch,) = found
    kinds = [event.WhichOneof("event") for event in batch]
    assert kinds == [
        "reasoning_delta",
        "text_delta",
        "logprobs_json",
        "tool_call",
        "tool_call",
        "done",
    ]
    assert batch[3].tool_call == chat.ToolCall(id="a", name="f", arguments_json='{"x":1}')
    assert batch[4].tool_call.arguments_json == '{"y": 2}'
    assert batch[4].tool_call.id.startswith("call_")
    assert batch[5].done.model == "gpt-x-1"
    assert batch[5].done.usage == USED


async def test_tool_calls_are_put_together_by_their_index(monkeypatch: pytest.MonkeyPatch) -> None:
    found = await tool_calls(
        monkeypatch,
        [call_part(0, "", id="a", name="f")],
        [call_part(1, '{"q"', id="b", name="g"), call_part(0, '{"x"')],
        [call_part(0, ":1}"), call_part(1, ":2}")],
    )
    assert found == [
        chat.ToolCall(id="a", name="f", arguments_json='{"x":1}'),
        chat.ToolCall(id="b", name="g", arguments_json='{"q":2}'),
    ]


async def test_tool_calls_of_careless_providers_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    found = await tool_calls(
        monkeypatch,
        [call_part(0, '{"x":1}', id="a", name="f")],
        [call_part(0, '{"x":2}', id="b", name="f")],  # the same index again
        [call_part(None, '{"x"', id="c", name="g")],  # no index at all
        [call_part(None, ":3}")],
        [call_part(None, "{}", id="d", name="h")],
    )
    assert [(call.id, call.arguments_json) for call in found] == [
        ("a", '{"x":1}'),
        ("b", '{"x":2}'),
        ("c", '{"x":3}'),
        ("d", "{}"),
    ]


async def test_a_function_call_of_the_older_kind_is_a_tool_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script = streaming(
        chunk({"function_call": {"name": "f", "arguments": '{"x"'}}),
        chunk({"function_call": {"arguments": ":1}"}}, "function_call"),
        DONE,
    )
    async with openai_at(script, monkeypatch) as (stub, _):
        called, done = await events(stub, asked())
    assert (called.tool_call.name, called.tool_call.arguments_json) == ("f", '{"x":1}')
    assert done.done.finish_reason == chat.FINISH_REASON_TOOL_CALLS


async def test_log_probabilities_pass_as_the_provider_wrote_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stated = b'{"content":[{"token":"Hi","logprob":-0.10,"top_logprobs":[]}]}'
    piece = b'data: {"choices":[{"delta":{"content":"Hi"},"logprobs":' + stated + b"}]}\n\n"
    async with openai_at(streaming(piece, STOP, DONE), monkeypatch) as (stub, _):
        found = await events(stub, asked())
    kinds = [event.WhichOneof("event") for event in found]
    assert kinds == ["text_delta", "logprobs_json", "done"]
    assert found[1].logprobs_json == stated.decode()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("stop", chat.FINISH_REASON_STOP),
        ("length", chat.FINISH_REASON_LENGTH),
        ("content_filter", chat.FINISH_REASON_CONTENT_FILTER),
        ("function_call", chat.FINISH_REASON_TOOL_CALLS),
        ("wandered_off", chat.FINISH_REASON_UNSPECIFIED),
    ],
)
async def test_the_reason_to_stop_is_translated(
    given: str, expected: chat.FinishReason.ValueType, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with openai_at(streaming(text("a"), chunk({}, given), DONE), monkeypatch) as (stub, _):
        found = await events(stub, asked())
    assert found[-1].done.finish_reason == expected
    unknown = json.loads(found[-1].done.provider_metadata_json).get("finish_reason")
    assert unknown == (given if expected == chat.FINISH_REASON_UNSPECIFIED else None)


async def test_a_refusal_is_text_and_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    script = streaming(chunk({"refusal": "I cannot."}), STOP, DONE)
    async with openai_at(script, monkeypatch) as (stub, _):
        found = await events(stub, asked())
    assert answer(found) == "I cannot."
    assert json.loads(found[-1].done.provider_metadata_json)["refusal"] is True


async def test_further_answers_are_not_mixed_into_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    second = b'data: {"choices":[{"index":1,"delta":{"content":"B"},"finish_reason":"length"}]}\n\n'
    async with openai_at(streaming(text("A"), second, STOP, DONE), monkeypatch) as (stub, _):
        found = await events(stub, asked())
    assert answer(found) == "A"
    assert found[-1].done.finish_reason == chat.FINISH_REASON_STOP


@pytest.mark.parametrize(
    "ending", [(STOP,), (chunk({}, "stop").rstrip(),), (STOP, b": bye\n\n")], ids=repr
)
async def test_a_missing_end_mark_is_forgiven_after_a_finish_reason(
    ending: tuple[bytes, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with openai_at(streaming(text("Hi"), *ending), monkeypatch) as (stub, _):
        assert answer(await events(stub, asked())) == "Hi"


async def test_the_events_agree_with_the_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    script = streaming(text("a") + chunk({"reasoning": "b"}) + text("c") + STOP + DONE)
    async with openai_at(script, monkeypatch) as (stub, _):
        (batch,) = await batches(stub, asked())
    assert [event.WhichOneof("event") for event in batch] == [
        "text_delta",
        "reasoning_delta",
        "text_delta",
        "done",
    ]
    assert isinstance(batch[0], pb.GenerationEvent)


def offered() -> pb.GenerateMessageRequest:
    return asked(functions=[chat.FunctionDeclaration(name="look")])


async def ending(monkeypatch: pytest.MonkeyPatch, *deltas: dict[str, Any]) -> Any:
    """Return the unknown members of a message, and those of its only call if there is one."""
    script = streaming(*map(chunk, deltas), chunk({}, "stop"), DONE)
    async with openai_at(script, monkeypatch) as (stub, _):
        found = await events(stub, offered())
    extras = [event.tool_call.extra_json for event in found if event.HasField("tool_call")]
    return [
        json.loads(text) if text else {} for text in (found[-1].done.message_extra_json, *extras)
    ]


async def test_unknown_members_of_calls_and_messages_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    part = call_part(0, "{}", name="look", id="c", type="builtin_function", sealed={"a": 1})
    message, call = await ending(
        monkeypatch,
        {"role": "assistant", "content": None, "reasoning_content": '"function"', "n": 1},
        {"reasoning_content": " is", "n": 2, "nothing": None, "tool_calls": [part]},
        {"tool_calls": [call_part(0, "", type="builtin_function", sealed={"b": 2})]},
    )
    assert message == {"reasoning_content": '"function" is', "n": 2}
    assert call == {"type": "builtin_function", "sealed": {"a": 1, "b": 2}}


async def test_items_of_a_list_that_come_in_pieces_are_put_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def piece(**members: Any) -> dict[str, Any]:
        return {"details": [{"type": "text", "index": 0} | members]}

    [message] = await ending(
        monkeypatch,
        piece(text="Hm", format="f", signature=None),
        piece(text=", yes.", format=None),
        piece(signature="s"),
        piece(index=1, text="And"),
        {"details": [{"type": "sealed", "index": 1, "data": "x"}]},
        {"details": [{"type": "sealed", "index": 1, "data": "y"}, "odd"]},
    )
    assert message["details"] == [
        {"type": "text", "index": 0, "text": "Hm, yes.", "format": "f", "signature": "s"},
        {"type": "text", "index": 1, "text": "And"},
        {"type": "sealed", "index": 1, "data": "x"},
        {"type": "sealed", "index": 1, "data": "y"},
        "odd",
    ]


async def test_what_is_too_large_to_be_kept_is_left_out_and_the_answer_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    half = "x" * 600_000
    part = call_part(0, "{}", name="look", id="c", sealed=half)
    message, call = await ending(
        monkeypatch,
        {"content": "Yes.", "small": 1, "thought": half},
        {"thought": half, "tool_calls": [part]},
    )
    assert message == {}
    assert call == {"sealed": half}


async def test_nothing_is_kept_where_no_function_was_offered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script = streaming(chunk({"reasoning_content": "Hm.", "n": 1}), text("Hi"), STOP, DONE)
    async with openai_at(script, monkeypatch) as (stub, _):
        found = await events(stub, asked())
    assert found[-1].done.message_extra_json == ""


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": -9, "completion_tokens": 4},
        {"prompt_tokens": 9, "completion_tokens": -(2**63)},
        {"prompt_tokens": 2**63 - 1, "completion_tokens": 4},
        {"prompt_tokens": 2**64 - 1, "completion_tokens": 4},
        {"prompt_tokens": 10**9 + 1},
        {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": -1}},
        {"prompt_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 2**63}},
    ],
)
@pytest.mark.parametrize("streams", [True, False])
async def test_token_counts_that_no_answer_has_are_unknown(
    monkeypatch: pytest.MonkeyPatch, usage: dict[str, Any], streams: bool
) -> None:
    if streams:
        last = b'data: {"choices":[],"usage":' + json.dumps(usage).encode() + b"}\n\n"
        script = streaming(text("Hello"), STOP, last, DONE)
    else:
        choice = {"message": {"content": "Hello"}, "finish_reason": "stop"}

        async def script(exchange: Exchange) -> None:
            await exchange.reply(200, json.dumps({"choices": [choice], "usage": usage}))

    async with openai_at(script, monkeypatch) as (stub, _):
        request = asked()
        received = await events(stub, request if streams else as_whole(request))
    assert answer(received) == "Hello"
    assert not received[-1].done.HasField("usage")


async def test_a_part_of_the_tokens_is_not_larger_than_the_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usage = b'{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":10}}'
    last = b'data: {"choices":[],"usage":' + usage + b"}\n\n"
    async with openai_at(streaming(text("Hi"), STOP, last, DONE), monkeypatch) as (stub, _):
        received = await events(stub, asked())
    assert received[-1].done.usage == chat.Usage(prompt_tokens=9, cached_tokens=9)
