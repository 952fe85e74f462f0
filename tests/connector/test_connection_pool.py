"""Connections to providers: pooled, bounded in time, and tried again in one case only."""

import asyncio
import json
import time

import pytest
from heddle_runtime.errors import DeadlineError, UnavailableError

from connector.provider import DONE, STOP, Exchange, text
from connector.service import answer, as_whole, asked, events, failure, openai_at, service


async def hello(exchange: Exchange) -> None:
    if exchange.json.get("stream"):
        await exchange.stream(text("Hi"), STOP, DONE)
        return
    message = {"role": "assistant", "content": "Hi"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    await exchange.reply(200, json.dumps({"model": "m", "choices": [choice]}))


async def test_fifty_parallel_requests_share_one_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    """E16."""
    async with openai_at(hello, monkeypatch) as (stub, made):
        for _ in range(3):
            found = await asyncio.gather(*(events(stub, asked()) for _ in range(50)))
            assert {answer(one) for one in found} == {"Hi"}
    assert len(made.exchanges) == 150
    assert made.connections <= 50


async def test_a_connection_serves_one_request_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with openai_at(hello, monkeypatch) as (stub, made):
        for whole in (False, True, False, True):
            await events(stub, as_whole(asked()) if whole else asked())
    assert made.connections == 1


async def test_an_unreachable_provider_is_unavailable_and_its_address_stays_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    async with service() as stub:
        error = await failure(stub, asked())
    assert type(error) is UnavailableError
    assert "127.0.0.1" not in error.message


async def test_a_provider_that_is_overloaded_for_a_moment_is_asked_once_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def script(exchange: Exchange) -> None:
        if len(made.exchanges) == 1:
            await exchange.reply(503, "{}")
        else:
            await hello(exchange)

    async with openai_at(script, monkeypatch) as (stub, made):
        assert answer(await events(stub, asked())) == "Hi"
    assert len(made.exchanges) == 2


async def test_a_connection_that_died_in_the_pool_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def script(exchange: Exchange) -> None:
        await hello(exchange)
        exchange.keep = made.connections > 1  # the first connection closes, unannounced

    async with openai_at(script, monkeypatch) as (stub, made):
        for _ in range(3):
            assert answer(await events(stub, asked())) == "Hi"


@pytest.mark.parametrize("how", ["503", "reset"])
async def test_a_provider_that_stays_down_is_asked_twice_and_no_more(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def script(exchange: Exchange) -> None:
        if how == "503":
            await exchange.reply(503, "{}")
        else:
            exchange.reset()

    async with openai_at(script, monkeypatch) as (stub, made):
        assert type(await failure(stub, asked())) is UnavailableError
    assert len(made.exchanges) == 2


@pytest.mark.parametrize("when", ["before the answer", "in mid-answer"])
async def test_a_provider_that_falls_silent_ends_with_the_deadline(
    when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def script(exchange: Exchange) -> None:
        if when == "in mid-answer":
            exchange.begin()
            await exchange.send(text("Hi"))
        await exchange.gone()

    async with openai_at(script, monkeypatch) as (stub, _):
        begun = time.monotonic()
        assert type(await failure(stub, asked(), seconds=0.4)) is DeadlineError
        assert time.monotonic() - begun < 5


@pytest.mark.alone
async def test_a_provider_that_keeps_the_connection_open_after_the_end_costs_no_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def script(exchange: Exchange) -> None:
        exchange.begin()
        await exchange.send(text("Hi") + STOP + DONE)
        await exchange.gone()

    async with openai_at(script, monkeypatch) as (stub, _):
        begun = time.monotonic()
        async for response in stub.GenerateMessage(asked(), timeout=5):
            if response.events[-1].HasField("done"):
                assert time.monotonic() - begun < 0.15
        assert time.monotonic() - begun < 1


async def test_no_cookies_are_stored_and_no_compression_is_requested(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.reply(
            200,
            '{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}',
            set_cookie="who=ada",
        )

    async with openai_at(script, monkeypatch) as (stub, made):
        for _ in range(2):
            await events(stub, as_whole(asked()))
    assert [exchange.headers.get("cookie") for exchange in made.exchanges] == [None, None]
    assert made.exchanges[0].headers["accept-encoding"] == "identity"
