"""What reaches an OpenAI-compatible provider."""

import json
from typing import Any

import pytest
from heddle.chat.v1 import chat_pb2 as chat
from heddle_runtime.errors import InvalidRequestError

from connector.provider import DONE, STOP, Exchange, text
from connector.service import asked, events, failure, openai_at, said

EXTRA = (
    '{"logit_bias":{"42":-1},"metadata":{"a":"b"},"user":{"id":7},"top_k":null,'
    '"seed_note":12345678901234567890123,"ratio":1.0,"tool_choice":"auto"}'
)


async def stop(exchange: Exchange) -> None:
    await exchange.stream(text("Hi"), STOP, DONE)


async def test_everything_the_client_sent_reaches_the_provider(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """K06."""
    call = chat.ToolCall(id="call_1", name="look", arguments_json='{"x": 1}')
    request = asked(
        messages=[
            said("Be brief.", chat.ROLE_DEVELOPER),
            chat.Message(
                role=chat.ROLE_USER,
                participant="ada",
                parts=[
                    chat.ContentPart(text="What is this?"),
                    chat.ContentPart(
                        image=chat.Media(
                            data=b"\x89PNG",
                            media_type="image/png",
                            image_detail=chat.IMAGE_DETAIL_LOW,
                        )
                    ),
                    chat.ContentPart(image=chat.Media(uri="https://example.org/a.png")),
                    chat.ContentPart(audio=chat.Media(data=b"RIFF", media_type="audio/x-wav")),
                    chat.ContentPart(
                        file=chat.Media(
                            data=b"%PDF", media_type="application/pdf", filename="a.pdf"
                        )
                    ),
                    chat.ContentPart(
                        foreign=chat.ForeignPart(type="video", json='{"type":"video","n":1.0}')
                    ),
                ],
            ),
            chat.Message(
                role=chat.ROLE_ASSISTANT,
                tool_calls=[call],
                extra_json='{"reasoning_content":"hm","role":"system","refusal":null}',
            ),
            chat.Message(
                role=chat.ROLE_TOOL, tool_call_id="call_1", parts=[chat.ContentPart(text="3")]
            ),
        ],
        options=chat.GenerationOptions(
            temperature=0.7,
            top_p=0.9,
            max_tokens=50,
            stop=["END"],
            seed=2**62 + 1,
            extra_json=EXTRA,
        ),
        functions=[
            chat.FunctionDeclaration(
                name="look",
                description="Looks.",
                parameters_schema_json='{"type": "object", "properties": {}}',
                strict=True,
            ),
            chat.FunctionDeclaration(foreign_json='{"type":"custom","custom":{"name":"c"}}'),
        ],
    )
    async with openai_at(stop, monkeypatch) as (stub, provider):
        await events(stub, request)
    (exchange,) = provider.exchanges
    assert (exchange.method, exchange.path) == ("POST", "/v1/chat/completions")
    assert exchange.headers["authorization"] == "Bearer sk-test-0123456789abcdef"
    assert b'"seed_note":12345678901234567890123' in exchange.body  # not bent into a double
    assert b'"ratio":1.0' in exchange.body
    assert b'{"type":"video","n":1.0}' in exchange.body
    assert exchange.json == {
        "model": "gpt-x",
        "messages": [
            {"role": "developer", "content": "Be brief."},
            {
                "role": "user",
                "name": "ada",
                "content": [
                    {"type": "text", "text": "What is this?"},
                    {
                        "type": "image_url",
                        "image_url": {"url": "data:image/png;base64,iVBORw==", "detail": "low"},
                    },
                    {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
                    {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
                    {
                        "type": "file",
                        "file": {
                            "file_data": "data:application/pdf;base64,JVBERg==",
                            "filename": "a.pdf",
                        },
                    },
                    {"type": "video", "n": 1.0},
                ],
            },
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "look", "arguments": '{"x": 1}'},
                    }
                ],
                "reasoning_content": "hm",
                "refusal": None,
            },
            {"role": "tool", "content": "3", "tool_call_id": "call_1"},
        ],
        "temperature": 0.7,
        "top_p": 0.9,
        "max_tokens": 50,
        "stop": ["END"],
        "seed": 2**62 + 1,
        **json.loads(EXTRA),
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "look",
                    "description": "Looks.",
                    "parameters": {"type": "object", "properties": {}},
                    "strict": True,
                },
            },
            {"type": "custom", "custom": {"name": "c"}},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


async def test_without_tools_the_body_has_no_tools_member(monkeypatch: pytest.MonkeyPatch) -> None:
    """E09."""
    async with openai_at(stop, monkeypatch) as (stub, provider):
        await events(stub, asked())
    assert provider.exchanges[0].json == {
        "model": "gpt-x",
        "messages": [{"role": "user", "content": "Say hello."}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


async def test_a_request_cannot_choose_where_the_key_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    extra = json.dumps(
        {
            "api_base": "http://evil",
            "base_url": "http://evil",
            "api_key": "x",
            "model": "other",
            "messages": [],
            "stream": False,
            "stream_options": {"include_usage": False, "include_obfuscation": False},
        }
    )
    options = chat.GenerationOptions(extra_json=extra)
    async with openai_at(stop, monkeypatch) as (stub, provider):
        await events(stub, asked(options=options))
    assert provider.exchanges[0].json == {
        "model": "gpt-x",
        "messages": [{"role": "user", "content": "Say hello."}],
        "stream": True,
        "stream_options": {"include_usage": True, "include_obfuscation": False},
    }


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"current_file": "a.py", "current_lines": "1"}, None),
        ({"current_file": "a.py", "course": "7"}, {"course": "7"}),
        ({"course": "7"}, {"course": "7"}),
        ({}, {}),
        (["current_file"], ["current_file"]),
    ],
)
async def test_what_tools_are_asked_with_is_not_for_the_provider(
    monkeypatch: pytest.MonkeyPatch, given: object, sent: object
) -> None:
    options = chat.GenerationOptions(extra_json=json.dumps({"metadata": given}))
    async with openai_at(stop, monkeypatch) as (stub, provider):
        await events(stub, asked(options=options))
    assert provider.exchanges[0].json.get("metadata") == sent


async def test_the_newer_name_of_the_token_limit_replaces_the_older(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    options = chat.GenerationOptions(max_tokens=5, extra_json='{"max_completion_tokens":5}')
    async with openai_at(stop, monkeypatch) as (stub, provider):
        await events(stub, asked(options=options))
    body = provider.exchanges[0].json
    assert body["max_completion_tokens"] == 5
    assert "max_tokens" not in body


@pytest.mark.parametrize("functions", [[], [chat.FunctionDeclaration(name="f")]])
async def test_options_of_tools_reach_the_provider_with_tools_only(
    monkeypatch: pytest.MonkeyPatch, functions: list[chat.FunctionDeclaration]
) -> None:
    options = chat.GenerationOptions(
        extra_json='{"tool_choice":"auto","parallel_tool_calls":false}'
    )
    async with openai_at(stop, monkeypatch) as (stub, provider):
        await events(stub, asked(options=options, functions=functions))
    names = {"tools", "tool_choice", "parallel_tool_calls"}
    assert names & provider.exchanges[0].json.keys() == (names if functions else set())


@pytest.mark.parametrize(
    ("extra", "field"),
    [
        ({"options": chat.GenerationOptions(extra_json="[1]")}, "options.extra_json"),
        ({"options": chat.GenerationOptions(extra_json='{"a":')}, "options.extra_json"),
        (
            {"options": chat.GenerationOptions(extra_json='{"a":' + "[" * 5000 + "}")},
            "options.extra_json",
        ),
        (
            {"functions": [chat.FunctionDeclaration(name="f", parameters_schema_json="{")]},
            "functions[0].parameters_schema_json",
        ),
        (
            {"messages": [said("a"), chat.Message(role=chat.ROLE_USER, extra_json="x")]},
            "messages[1].extra_json",
        ),
        (
            {
                "messages": [
                    chat.Message(
                        role=chat.ROLE_USER,
                        parts=[
                            chat.ContentPart(text="a"),
                            chat.ContentPart(file=chat.Media(uri="https://example.org/a.pdf")),
                        ],
                    )
                ]
            },
            "messages[0].parts[1].uri",
        ),
    ],
)
async def test_what_cannot_be_sent_is_refused_with_its_path(
    extra: dict[str, Any], field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with openai_at(stop, monkeypatch) as (stub, provider):
        error = await failure(stub, asked(**extra))
    assert isinstance(error, InvalidRequestError)
    assert [violation.field for violation in error.violations] == [field]
    assert provider.exchanges == []
