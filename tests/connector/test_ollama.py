"""The `ollama` connector against a fake Ollama server."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from heddle.chat.v1 import chat_pb2 as chat
from heddle.connector.v1 import connector_pb2 as pb
from heddle_runtime.errors import (
    InvalidRequestError,
    ProviderGarbledError,
    ProviderRefusedError,
    UnavailableError,
)
from heddle_runtime.identity.call_metadata import new_call_options

from connector.provider import Exchange, Script, provider, streaming
from connector.service import (
    answer,
    as_whole,
    asked,
    events,
    failure,
    said,
    service,
    text_and_failure,
)


@asynccontextmanager
async def ollama_at(script: Script, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Any]:
    async with provider(script) as made:
        monkeypatch.setenv("HEDDLE_CONNECTOR_OLLAMA_BASE_URL", made.url)
        async with service() as stub:
            yield stub, made


def line(message: dict[str, Any], **more: Any) -> bytes:
    return (
        json.dumps({"model": "llama3.2", "message": message, "done": False} | more).encode() + b"\n"
    )


END = line(
    {"role": "assistant", "content": ""},
    done=True,
    done_reason="stop",
    prompt_eval_count=9,
    eval_count=4,
)


def ask(**fields: Any) -> pb.GenerateMessageRequest:
    return asked("ollama", "llama3.2", **fields)


async def test_a_stream_becomes_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """E02."""
    first = line({"thinking": "Hm."}) + line({"content": "Hel"})
    script = streaming(first[:20], first[20:] + line({"content": "lo  wörld"}), END)
    async with ollama_at(script, monkeypatch) as (stub, made):
        found = await events(stub, ask())
    assert [event.WhichOneof("event") for event in found] == [
        "reasoning_delta",
        "text_delta",
        "done",
    ]
    assert answer(found) == "Hello  wörld"
    assert found[-1].done == chat.Done(
        finish_reason=chat.FINISH_REASON_STOP,
        usage=chat.Usage(prompt_tokens=9, completion_tokens=4),
        model="llama3.2",
    )
    assert made.exchanges[0].path == "/api/chat"
    assert made.connections == 1


async def test_a_whole_answer_has_the_same_events(monkeypatch: pytest.MonkeyPatch) -> None:
    asked_for = {"function": {"name": "f", "arguments": {"x": 1}}}
    reply = line({"content": "Hi", "tool_calls": [asked_for]}, done=True, done_reason="stop")

    async def script(exchange: Exchange) -> None:
        await exchange.reply(200, reply)

    async with ollama_at(script, monkeypatch) as (stub, made):
        text, called, done = await events(stub, as_whole(ask()))
    assert made.exchanges[0].json["stream"] is False
    assert text.text_delta == "Hi"
    assert called.tool_call.name == "f"
    assert called.tool_call.arguments_json == '{"x": 1}'
    assert called.tool_call.id.startswith("call_")
    assert done.done.finish_reason == chat.FINISH_REASON_TOOL_CALLS


async def test_the_request_is_put_in_ollamas_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = {"type": "object"}
    extra = {
        "top_k": 5,
        "think": True,
        "logit_bias": {"1": 2},
        "api_base": "http://evil",
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}},
    }
    request = ask(
        messages=[
            said("Be brief.", chat.ROLE_DEVELOPER),
            chat.Message(
                role=chat.ROLE_USER,
                parts=[
                    chat.ContentPart(text="What is "),
                    chat.ContentPart(text="this?"),
                    chat.ContentPart(image=chat.Media(data=b"PNG", media_type="image/png")),
                ],
            ),
            chat.Message(
                role=chat.ROLE_ASSISTANT,
                tool_calls=[
                    chat.ToolCall(id="a", name="f", arguments_json='{"x":1}'),
                    chat.ToolCall(id="b", name="g", arguments_json="{oops"),
                ],
            ),
            chat.Message(role=chat.ROLE_TOOL, tool_call_id="b", parts=[chat.ContentPart(text="3")]),
        ],
        options=chat.GenerationOptions(
            temperature=0.0,
            top_p=0.5,
            max_tokens=7,
            stop=["END"],
            seed=3,
            extra_json=json.dumps(extra),
        ),
        functions=[chat.FunctionDeclaration(name="f", parameters_schema_json='{"type":"object"}')],
    )
    async with ollama_at(streaming(END), monkeypatch) as (stub, made):
        await events(stub, request)
    assert made.exchanges[0].json == {
        "model": "llama3.2",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What is this?", "images": ["UE5H"]},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {"function": {"name": "f", "arguments": {"x": 1}}},
                    {"function": {"name": "g", "arguments": {}}},
                ],
            },
            {"role": "tool", "content": "3", "tool_name": "g"},
        ],
        "stream": True,
        "format": schema,
        "think": True,
        "options": {
            "temperature": 0.0,
            "top_p": 0.5,
            "num_predict": 7,
            "stop": ["END"],
            "seed": 3,
            "top_k": 5,
        },
        "tools": [{"type": "function", "function": {"name": "f", "parameters": schema}}],
    }


@pytest.mark.parametrize(
    "part",
    [
        chat.ContentPart(image=chat.Media(uri="https://example.org/a.png")),
        chat.ContentPart(audio=chat.Media(data=b"x", media_type="audio/wav")),
        chat.ContentPart(foreign=chat.ForeignPart(type="x", json="{}")),
    ],
    ids=["an address", "sound", "foreign"],
)
async def test_what_ollama_cannot_read_is_refused(
    part: chat.ContentPart, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = chat.Message(role=chat.ROLE_USER, parts=[chat.ContentPart(text="a"), part])
    async with ollama_at(streaming(END), monkeypatch) as (stub, made):
        assert type(await failure(stub, ask(messages=[message]))) is InvalidRequestError
    assert made.exchanges == []


async def test_an_error_of_the_server_is_an_error_and_not_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.reply(404, '{"error":"model \'llama3.2\' not found"}')

    async with ollama_at(script, monkeypatch) as (stub, _):
        error = await failure(stub, ask())
    assert type(error) is ProviderRefusedError
    assert error.message == "model 'llama3.2' not found"
    assert error.metadata == {"provider": "ollama", "http_status": "404"}


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ((line({"content": "Hi"}), b'{"error":"out of memory"}\n'), ProviderRefusedError),
        ((line({"content": "Hi"}), b"{oops\n"), ProviderGarbledError),
        ((line({"content": "Hi"}), b"[1]\n"), ProviderGarbledError),
        ((line({"content": "Hi"}),), ProviderGarbledError),
    ],
    ids=["an error", "no JSON", "other JSON", "cut off"],
)
async def test_a_stream_that_goes_wrong_ends_in_a_typed_error_after_its_text(
    pieces: tuple[bytes, ...], expected: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    for script in (streaming(*pieces), streaming(b"".join(pieces))):
        async with ollama_at(script, monkeypatch) as (stub, _):
            error, before = await text_and_failure(stub, ask())
        assert type(error) is expected
        assert before == "Hi"


async def test_the_models_of_the_server_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def script(exchange: Exchange) -> None:
        assert (exchange.method, exchange.path) == ("GET", "/api/tags")
        await exchange.reply(200, '{"models":[{"name":"b:1"},{"name":"a:2","size":3}]}')

    async with ollama_at(script, monkeypatch) as (stub, _):
        request = pb.ListModelsRequest(connector="ollama")
        found = await stub.ListModels(request, **new_call_options(5))
    assert [model.ref.model for model in found.models] == ["a:2", "b:1"]


async def test_a_server_that_is_not_there_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEDDLE_CONNECTOR_OLLAMA_BASE_URL", "http://127.0.0.1:1")
    async with service() as stub:
        assert type(await failure(stub, ask())) is UnavailableError


async def test_what_a_model_thought_comes_back_to_it_with_its_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    function = chat.FunctionDeclaration(name="f")
    asked_for = {"function": {"name": "f", "arguments": {}}}
    script = streaming(
        line({"thinking": "Let me "}) + line({"thinking": "see.", "tool_calls": [asked_for]}), END
    )
    async with ollama_at(script, monkeypatch) as (stub, made):
        *_, called, ended = await events(stub, ask(functions=[function]))
        again = chat.Message(
            role=chat.ROLE_ASSISTANT,
            tool_calls=[called.tool_call],
            extra_json=ended.done.message_extra_json,
        )
        await events(stub, ask(messages=[said("Look."), again], functions=[function]))
    assert made.exchanges[1].json["messages"][1]["thinking"] == "Let me see."


async def test_of_thoughts_without_end_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    thoughts = [line({"thinking": "Hm. " * 100_000}) for _ in range(4)]
    asked_for = {"function": {"name": "f", "arguments": {}}}
    script = streaming(*thoughts, line({"tool_calls": [asked_for]}), END)
    async with ollama_at(script, monkeypatch) as (stub, _):
        *_, ended = await events(stub, ask(functions=[chat.FunctionDeclaration(name="f")]))
    assert ended.done.message_extra_json == ""
