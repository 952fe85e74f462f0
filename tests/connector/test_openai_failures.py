"""What goes wrong with an OpenAI-compatible provider ends in a typed error."""

import asyncio
import json

import pytest
from heddle_runtime.errors import (
    ProviderGarbledError,
    ProviderRefusedError,
    ResourceExhaustedError,
    UnavailableError,
)

from connector.provider import DONE, Exchange, chunk, streaming, text
from connector.service import as_whole, asked, failure, openai_at, text_and_failure

GARBAGE: dict[str, tuple[bytes, ...]] = {
    "not JSON": (text("Hi"), b"data: {oops\n\n"),
    "JSON of another shape": (text("Hi"), b'data: {"choices":7}\n\n'),
    "deep nesting": (text("Hi"), b'data: {"x":' + b"[" * 100_000 + b"\n\n"),
    "no finish reason": (text("Hi"),),
    "a page of HTML": (text("Hi"), b"<html>\n\n</html>"),
    "ten thousand tool calls": (
        text("Hi"),
        chunk({"tool_calls": [{"index": n, "function": {"name": "f"}} for n in range(10_000)]}),
        chunk({}, "tool_calls"),
        DONE,
    ),
}


@pytest.mark.parametrize("pieces", GARBAGE.values(), ids=GARBAGE)
async def test_a_garbled_stream_ends_in_a_typed_error_after_the_text_before_it(
    pieces: tuple[bytes, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for script in (streaming(*pieces), streaming(b"".join(pieces))):
        async with openai_at(script, monkeypatch) as (stub, _):
            error, before = await text_and_failure(stub, asked())
        assert type(error) is ProviderGarbledError
        assert error.metadata == {"provider": "openai"}
        assert before == "Hi"


@pytest.mark.parametrize("reply", [b"", b"{", b"[]", b'{"choices":[]}', b"<html>", b"null"])
async def test_a_garbled_whole_answer_is_a_typed_error(
    reply: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.reply(200, reply)

    async with openai_at(script, monkeypatch) as (stub, _):
        assert type(await failure(stub, as_whole(asked()))) is ProviderGarbledError


@pytest.mark.parametrize(
    ("error", "expected", "metadata"),
    [
        (
            {"message": "boom", "type": "server_error", "param": None, "code": None},
            UnavailableError,
            {"http_status": "500", "provider_type": "server_error"},
        ),
        (
            {"message": "slow", "type": "requests", "code": "rate_limit_exceeded"},
            ResourceExhaustedError,
            {
                "http_status": "429",
                "provider_type": "requests",
                "provider_code": "rate_limit_exceeded",
            },
        ),
        (
            {"message": "no", "code": 502},
            UnavailableError,
            {"http_status": "502", "provider_code": "502"},
        ),
        (
            {"message": "too long", "type": "invalid_request_error", "param": "messages"},
            ProviderRefusedError,
            {
                "http_status": "400",
                "provider_type": "invalid_request_error",
                "provider_param": "messages",
            },
        ),
        ("just text", ProviderRefusedError, {"http_status": "200"}),
    ],
)
@pytest.mark.parametrize("whole", [False, True])
async def test_an_error_object_in_an_answer_is_a_typed_error(
    error: object,
    expected: type[Exception],
    metadata: dict[str, str],
    whole: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = json.dumps({"error": error}).encode()

    async def script(exchange: Exchange) -> None:
        if whole:
            await exchange.reply(200, data)
        else:
            await exchange.stream(text("Hi"), b"data: " + data + b"\n\n", DONE)

    async with openai_at(script, monkeypatch) as (stub, _):
        found, before = await text_and_failure(stub, as_whole(asked()) if whole else asked())
    assert type(found) is expected
    assert found.metadata == {"provider": "openai", **metadata}
    assert (error["message"] if isinstance(error, dict) else str(error)) in found.message
    assert before == ("" if whole else "Hi")


async def test_an_error_in_an_answer_does_not_repeat_the_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    error = b'{"error":{"message":"the key my-very-own-key is used up"}}'

    async def script(exchange: Exchange) -> None:
        if b'"stream":true' in exchange.body:
            await exchange.stream(b"data: " + error + b"\n\n")
        else:
            await exchange.reply(200, error)

    async with openai_at(script, monkeypatch, "my-very-own-key") as (stub, _):
        for whole in (False, True):
            found = await failure(stub, as_whole(asked()) if whole else asked())
            assert found.message == "the key [redacted] is used up"


async def test_an_endless_line_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    async def script(exchange: Exchange) -> None:
        exchange.begin()
        await exchange.send(text("Hi") + b"data: ")
        while True:
            await exchange.send(b"x" * 65536)

    async with openai_at(script, monkeypatch) as (stub, _):
        error, before = await text_and_failure(stub, asked())
    assert type(error) is ProviderGarbledError
    assert "line of more than" in error.message
    assert before == "Hi"


async def test_an_endless_whole_reply_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    async def script(exchange: Exchange) -> None:
        exchange.begin("application/json")
        while True:
            await exchange.send(b" " * 65536)

    async with openai_at(script, monkeypatch) as (stub, _):
        error = await failure(stub, as_whole(asked()))
    assert type(error) is ProviderGarbledError


@pytest.mark.parametrize("whole", [False, True])
async def test_a_connection_closed_in_mid_answer_is_a_garbled_answer(
    whole: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def script(exchange: Exchange) -> None:
        exchange.begin()
        await exchange.send(text("Hi"))
        exchange.cut()

    async with openai_at(script, monkeypatch) as (stub, _):
        assert (
            type(await failure(stub, as_whole(asked()) if whole else asked()))
            is ProviderGarbledError
        )


async def test_a_connection_reset_in_mid_answer_is_a_typed_error_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def script(exchange: Exchange) -> None:
        exchange.begin()
        await exchange.send(text("Hi"))
        await asyncio.sleep(0.05)
        exchange.reset()

    async with openai_at(script, monkeypatch) as (stub, provider):
        error, before = await text_and_failure(stub, asked())
    assert type(error) in (UnavailableError, ProviderGarbledError)
    assert before == "Hi"
    assert len(provider.exchanges) == 1
