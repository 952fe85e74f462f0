"""Responses over a WebSocket: the events of a stream, as messages."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from gateway.conftest import KEY, Bench, Start
from gateway.library import Library
from gateway.neighbours import Neighbours, text
from heddle_gateway.openai.conversations.turns import MAX_TURN_BYTES, LastTurn
from patience import until

from gateway import replicas

CREATE = {"type": "response.create", "model": "lamb_assistant.1", "input": "Who was Ada?"}
PATH = "/v1/responses"
Socket = aiohttp.ClientWebSocketResponse
pytestmark = pytest.mark.skipif(bool(replicas.WHICH), reason="a connection has one gateway")


@asynccontextmanager
async def socket(url: str, key: str = KEY, **headers: str) -> AsyncIterator[Socket]:
    """Yield an open connection."""
    sent = {"Authorization": f"Bearer {key}", **headers}
    async with (
        aiohttp.ClientSession(url, headers=sent) as session,
        session.ws_connect(PATH) as connection,
    ):
        yield connection


async def events(connection: Socket, **body: Any) -> list[dict[str, Any]]:
    """Return the events of a response."""
    await connection.send_json({**CREATE, **body})
    received = []
    while True:
        received.append(await connection.receive_json(timeout=20))
        if received[-1]["type"] in ("response.completed", "response.failed", "error"):
            return received


def of(shelf: Library) -> tuple[str, str]:
    """Return the address of a gateway, and the key of a person."""
    client = shelf["ana"]
    return str(client.base_url), client.headers["authorization"].split()[1]


def seen(neighbours: Neighbours) -> list[str]:
    """Return the texts that the last run had."""
    messages = neighbours.orchestrator.requests[-1].messages
    return [each.parts[0].text for each in messages if each.parts]


async def test_messages_are_the_events_of_the_stream(bench: Bench) -> None:
    streamed = await bench.client.post(PATH, json={**CREATE, "stream": True, "store": False})
    kinds = [line[7:] for line in streamed.text.splitlines() if line.startswith("event: ")]
    async with socket(bench.url) as connection:
        for _ in range(2):
            received = await events(connection, store=False)
            assert [each["type"] for each in received] == kinds
            assert [each["sequence_number"] for each in received] == [*range(len(kinds))]
            answer = received[-1]["response"]
            assert (answer["status"], answer["store"]) == ("completed", False)


async def test_a_connection_continues_its_last_response_unless_it_failed(shelf: Library) -> None:
    url, key = of(shelf)
    async with socket(url, key) as connection, socket(url, key) as other:
        first = (await events(connection, store=False))[-1]["response"]
        more = {"store": False, "input": "When?", "previous_response_id": first["id"]}
        refused = await events(other, **more)
        assert [each["error"]["code"] for each in refused] == ["previous_response_not_found"]
        second = (await events(connection, **more))[-1]["response"]
        assert seen(shelf.neighbours) == ["Who was Ada?", "Hello", "When?"]
        assert second["previous_response_id"] == first["id"]
        again = {**more, "previous_response_id": second["id"]}
        orphan = [{"type": "function_call_output", "call_id": "c", "output": "x"}]
        refused = await events(connection, **{**again, "input": orphan})
        assert refused[-1]["error"]["code"] == "tool_call_not_found"
        refused = await events(connection, **again)
        assert refused[-1]["error"]["code"] == "previous_response_not_found"


async def test_a_response_without_a_run_is_continued(bench: Bench) -> None:
    async with socket(bench.url) as connection:
        empty = await events(connection, store=False, generate=False)
        assert [each["type"] for each in empty][::2] == ["response.created", "response.completed"]
        assert not bench.orchestrator.requests
        previous = empty[-1]["response"]["id"]
        await events(connection, store=False, input="When?", previous_response_id=previous)
        assert seen(bench.neighbours) == ["Who was Ada?", "When?"]


async def test_a_stored_response_is_continued_on_another_connection(shelf: Library) -> None:
    url, key = of(shelf)
    async with socket(url, key) as connection:
        first = (await events(connection))[-1]["response"]
    assert first["store"] is True
    async with socket(url, key) as connection:
        more = {"input": "When?", "previous_response_id": first["id"]}
        second = (await events(connection, **more, store=False))[-1]["response"]
        await events(connection, input="Where?", previous_response_id=second["id"])
    assert seen(shelf.neighbours) == ["Who was Ada?", "Hello", "When?", "Hello", "Where?"]


@pytest.mark.parametrize(
    ("message", "status"),
    [
        ("{", 400),
        ("[]", 400),
        ("\x00", 400),
        ('{"type":"response.cancel"}', 400),
        (
            '{"type":"response.create","model":"lamb_assistant.1","input":"a","background":true}',
            400,
        ),
        ('{"type":"response.create","model":"lamb_assistant.1"}', 400),
    ],
)
async def test_an_invalid_message_is_answered_by_an_error(
    bench: Bench, message: str, status: int
) -> None:
    async with socket(bench.url) as connection:
        await connection.send_str(message)
        error = await connection.receive_json(timeout=20)
        assert (error["type"], error["status"]) == ("error", status)
        assert error["error"]["code"]
        assert (await events(connection, store=False))[-1]["type"] == "response.completed"


async def test_a_run_that_fails_ends_as_in_the_stream(bench: Bench) -> None:
    bench.orchestrator.script = [[text("Lo")]]
    async with socket(bench.url) as connection:
        assert (await events(connection, store=False))[-1]["type"] == "response.failed"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": "Bearer wrong-key-0123456789"}, 401),
        ({"Origin": "https://elsewhere.example"}, 403),
    ],
)
async def test_a_connection_is_refused_before_it_opens(
    bench: Bench, headers: dict[str, str], status: int
) -> None:
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        async with socket(bench.url, **headers):
            pass
    assert refused.value.status == status


async def test_an_invalid_handshake_is_refused(bench: Bench) -> None:
    offer = {"connection": "Upgrade", "upgrade": "websocket"}
    refused = await bench.client.get(PATH, headers=offer)
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "invalid_handshake")


async def test_a_client_that_gives_no_sign_is_left(start: Start) -> None:
    async with (
        start(idle_timeout_seconds=1, keep_alive_seconds=0.1) as bench,
        aiohttp.ClientSession(bench.url, headers={"Authorization": f"Bearer {KEY}"}) as session,
        session.ws_connect(PATH, autoping=False) as connection,
    ):
        assert (await connection.receive(timeout=20)).type is aiohttp.WSMsgType.PING
        while (received := await connection.receive(timeout=20)).type is aiohttp.WSMsgType.PING:
            pass
        assert received.type in (aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.ERROR)


async def test_a_message_that_is_too_large_closes_the_connection(start: Start) -> None:
    async with start(max_body_bytes=1000) as bench, socket(bench.url) as connection:
        await connection.send_json({**CREATE, "input": "a" * 1000})
        assert (await connection.receive(timeout=20)).data == aiohttp.WSCloseCode.MESSAGE_TOO_BIG


async def test_a_client_that_leaves_ends_its_run(bench: Bench) -> None:
    bench.orchestrator.script = [[text("Lo")], 30.0]
    async with socket(bench.url) as connection:
        await connection.send_json({**CREATE, "store": False})
        await until(lambda: bench.orchestrator.running == 1)
    await until(lambda: bench.orchestrator.running == 0)


async def test_a_gateway_that_stops_lets_a_response_end(start: Start) -> None:
    async with start() as bench:
        idle = socket(bench.url)
        connection = await idle.__aenter__()
        await events(connection, store=False)
    closing = await connection.receive(timeout=20)
    assert closing.data == aiohttp.WSCloseCode.GOING_AWAY
    await idle.__aexit__(None, None, None)


def test_a_connection_keeps_no_more_than_a_store_would() -> None:
    last_turn = LastTurn()
    last_turn.keep("resp_1", [b"x" * MAX_TURN_BYTES])
    assert (last_turn.take("resp_2"), last_turn.take("")) == (None, None)
    assert last_turn.take("resp_1") == [b"x" * MAX_TURN_BYTES]
    assert last_turn.take("resp_1") is None
    last_turn.keep("resp_2", [b"x" * MAX_TURN_BYTES, b"x"])
    assert last_turn.take("resp_2") is None
