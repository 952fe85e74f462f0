"""Providers that stop sending in the middle of an answer."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from heddle.assistant.v1.assistant_pb2 import ModelRef
from heddle.chat.v1 import chat_pb2 as chat
from heddle.connector.v1 import connector_pb2 as pb
from heddle_runtime.errors import DeadlineError, UnavailableError

from connector.provider import DONE, Exchange, Script, chunk, provider, text
from connector.service import Stub, as_whole, failure, service, text_and_failure

STALL_SECONDS = 0.5
REQUEST = pb.GenerateMessageRequest(
    model=ModelRef(connector="openai", model="gpt-x"),
    messages=[chat.Message(role=chat.ROLE_USER, parts=[chat.ContentPart(text="Hello?")])],
)
MESSAGE = "The model stopped in the middle of its answer. Try again."


@asynccontextmanager
async def stalling(script: Script, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Stub]:
    async with provider(script) as running:
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", f"{running.url}/v1")
        async with service(stall_seconds=STALL_SECONDS) as stub:
            yield stub


async def test_a_stream_that_stops_ends_typed_after_its_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed: list[float] = []

    async def script(exchange: Exchange) -> None:
        exchange.begin()
        await exchange.send(text("Hi"))
        closed.append(await exchange.gone())

    async with stalling(script, monkeypatch) as stub:
        started = time.monotonic()
        error, before = await text_and_failure(stub, REQUEST)
        assert (type(error), error.message, before) == (UnavailableError, MESSAGE, "Hi")
        assert error.metadata["provider"] == "openai"
        assert STALL_SECONDS <= time.monotonic() - started < STALL_SECONDS + 2
        await asyncio.sleep(0.1)
    assert closed


async def test_comments_are_signs_of_life_until_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def script(exchange: Exchange) -> None:
        exchange.begin()
        await exchange.send(text("Hi"))
        while True:
            await exchange.send(b": still working\n\n")
            await asyncio.sleep(0.1)

    async with stalling(script, monkeypatch) as stub:
        error, before = await text_and_failure(stub, REQUEST, 3 * STALL_SECONDS)
    assert (type(error), before) == (DeadlineError, "Hi")


async def test_a_whole_answer_that_stops_ends_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def script(exchange: Exchange) -> None:
        exchange.begin("application/json")
        await exchange.send(b'{"choices":')
        await exchange.gone()

    async with stalling(script, monkeypatch) as stub:
        error = await failure(stub, as_whole(REQUEST))
    assert (type(error), error.message) == (UnavailableError, MESSAGE)


async def test_the_first_part_may_take_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def script(exchange: Exchange) -> None:
        await asyncio.sleep(2 * STALL_SECONDS)
        await exchange.stream(text("Hi"), chunk({}, "stop"), DONE)

    async with stalling(script, monkeypatch) as stub:
        responses = [response async for response in stub.GenerateMessage(REQUEST, timeout=20)]
    assert responses
