"""Connections that somebody keeps open, bends or does not read, over bare sockets."""

import asyncio
from contextlib import suppress

import pytest
from gateway.bare_sockets import ask
from gateway.conftest import KEY, Start
from gateway.neighbours import DONE, HELLO, text
from gateway.test_disconnects import request

STATUS = b"GET /status HTTP/1.1\r\nhost: a\r\n\r\n"
CHUNKED = b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"
NO_KEY = b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n"
ENDLESS = 20_000_000


async def test_fields_behind_a_body_are_not_believed(start: Start) -> None:
    body = request(stream=False).partition(b"\r\n\r\n")[2]
    sent = CHUNKED + b"%x\r\n%b\r\n0\r\n" % (len(body), body)
    async with start(idle_timeout_seconds=1) as bench:
        answer = await ask(bench, sent + f"authorization: Bearer {KEY}\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 401")
        assert not bench.orchestrator.requests


@pytest.mark.parametrize(
    ("begin", "piece"),
    [
        (b"0\r\n", b"a: " + b"b" * 1000 + b"\r\n"),
        (b"0\r\na: ", b"b" * 1000),
        (b"1;", b"b" * 1000),
    ],
)
async def test_what_stands_around_a_body_does_not_go_on_for_ever(
    start: Start, begin: bytes, piece: bytes
) -> None:
    async with start() as bench:
        _, writer = await bench.connect()
        writer.write(CHUNKED + begin)
        sent = 0
        with suppress(ConnectionError):
            while sent < ENDLESS:
                writer.write(piece * 50)
                sent += len(piece) * 50
                await asyncio.wait_for(writer.drain(), 20)
        assert sent < ENDLESS
        writer.close()


@pytest.mark.parametrize(
    ("more", "status"), [(b"GET /sta", b"408"), (b"\r\n", b""), (b"\x16\x03\x01", b"")]
)
async def test_nothing_is_written_into_an_answer(start: Start, more: bytes, status: bytes) -> None:
    async with start(body_timeout_seconds=0.3) as bench:
        bench.orchestrator.script = [[text("a")], 1.0, [text("b"), DONE]]
        answer = await ask(bench, request(stream=True), more, pause=0.2)
        first, _, second = answer.removeprefix(b"HTTP/1.1 200").partition(b"HTTP/1.1 ")
        assert second[:3] == status
        # What is no HTTP at all ends the connection, and the answer with it.
        assert first.endswith(b"\r\n0\r\n\r\n") or more.startswith(b"\x16")


@pytest.mark.parametrize(
    ("asked", "rest"), [(STATUS, b"\r\n"), (NO_KEY, b"x"), (NO_KEY, b"x" * 9 + b"\r\n")]
)
async def test_a_connection_that_carries_no_request_is_closed(
    start: Start, asked: bytes, rest: bytes
) -> None:
    async with start(body_timeout_seconds=1.0, idle_timeout_seconds=1) as bench:
        answer = await ask(bench, asked, rest, pause=0.2)  # the rest comes after the answer
        assert answer.count(b"HTTP/1.1") == 1


async def test_a_client_that_takes_nothing_does_not_hold_its_run_for_ever(start: Start) -> None:
    async with start("local", idle_timeout_seconds=1, max_concurrent_calls=1) as bench:
        bench.orchestrator.script = [[text("x" * 1_000_000)]] * 50
        _, writer = await bench.connect()
        writer.write(request(stream=True))
        async with asyncio.timeout(20):
            while not bench.orchestrator.cancelled:
                await asyncio.sleep(0.05)
        bench.orchestrator.script = HELLO
        assert (await bench.chat()).status_code == 200
        writer.close()


async def test_a_client_that_takes_little_at_a_time_keeps_its_answer(start: Start) -> None:
    # The kernel tells the gateway that there is room when a third of its buffer is: more than a
    # megabyte, which this client takes in 0.8 seconds.
    async with start("local", idle_timeout_seconds=2) as bench:
        bench.orchestrator.script = [[text("x" * 12_000_000)], [DONE]]
        reader, writer = await bench.connect()
        writer.write(request(stream=True))
        taken = b""
        for _ in range(8):
            taken += await reader.readexactly(700_000)
            await asyncio.sleep(0.4)
        async with asyncio.timeout(20):
            while not taken.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n"):
                taken += (piece := await reader.read(1_000_000))
                assert piece
        writer.close()


OFFER = b"\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAQAA\r\n"


@pytest.mark.parametrize("pieces", [1, 2])
async def test_an_offer_to_speak_http_2_is_passed_over(start: Start, pieces: int) -> None:
    head, _, body = request(stream=False).partition(b"\r\n\r\n")
    offered = head + OFFER + b"\r\n"
    async with start(
        idle_timeout_seconds=1
    ) as bench:  # so do clients of Java, which send no body again
        sent = (offered + body,) if pieces == 1 else (offered, body)
        answer = await ask(bench, *sent, STATUS, pause=0.1)
        assert answer.count(b"HTTP/1.1 200") == 2
        (asked,) = bench.orchestrator.requests
        assert asked.messages[0].parts[0].text == "hi"


async def test_many_offers_that_come_together_are_passed_over(start: Start) -> None:
    async with start(idle_timeout_seconds=1) as bench:
        answer = await ask(bench, STATUS.replace(b"\r\n\r\n", OFFER + b"\r\n") * 600)
        assert answer.count(b"HTTP/1.1 200") == 600


async def test_a_tunnel_is_refused(start: Start) -> None:
    async with start() as bench:
        tunnel = b"CONNECT example.org:443 HTTP/1.1\r\nhost: example.org\r\n\r\n"
        assert (await ask(bench, tunnel)).startswith(b"HTTP/1.1 400")
