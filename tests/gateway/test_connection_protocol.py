"""How answers leave: head and body together, and nothing held back that nothing follows."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn
from gateway.conftest import Start
from gateway.neighbours import text
from gateway.test_disconnects import request
from heddle_gateway.http.limited_protocol import limited_protocol

HEAD = b"HTTP/1.1 200 OK\r\n"


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Answer as the path says."""
    path = scope["path"]
    while (await receive())["more_body"]:
        continue
    if path == "/none":
        return
    status = 204 if path == "/empty" else 200
    await send({"type": "http.response.start", "status": status, "headers": []})
    if path == "/fails":
        raise RuntimeError
    if path == "/large":
        for _ in range(50):
            await send({"type": "http.response.body", "body": b"x" * 100_000, "more_body": True})
    if path == "/parts":
        await send({"type": "http.response.body", "body": b"one ", "more_body": True})
        await asyncio.sleep(0.05)
    await send({"type": "http.response.body", "body": b"two" if path != "/empty" else b""})


class Counted:
    """A transport that remembers what is written, a system call each."""

    def __init__(self, transport: asyncio.Transport, writes: list[bytes]) -> None:
        self._transport = transport
        self._writes = writes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        self._writes.append(data)
        self._transport.write(data)


@asynccontextmanager
async def serving(writes: list[bytes] | None = None) -> AsyncGenerator[int]:
    """Yield the port of a server whose connections are limited_protocol ones."""

    class Counting(limited_protocol(5.0)):  # type: ignore[misc] # a class that a function returns
        def connection_made(self, transport: Any) -> None:
            super().connection_made(Counted(transport, [] if writes is None else writes))

    config = uvicorn.Config(
        application,
        port=0,
        http=Counting,
        ws="none",
        lifespan="off",
        log_config=None,
        server_header=False,
        date_header=False,
    )
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.005)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    await task


async def ask(port: int, *lines: str, until: bytes = b"", header: bytes = b"") -> bytes:
    """Send requests and return what is received until `until`, or the end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for line in lines:
        writer.write(f"{line} HTTP/1.1\r\nhost: a\r\n".encode() + header + b"\r\n")
    async with asyncio.timeout(5):
        received = await (reader.readuntil(until) if until else reader.read())
    writer.close()
    return received


async def test_the_head_leaves_with_what_follows_it() -> None:
    head = HEAD + b"transfer-encoding: chunked\r\n\r\n"
    writes: list[bytes] = []
    async with serving(writes) as port:
        await ask(port, "GET /", until=b"0\r\n\r\n")
        assert writes == [head + b"3\r\ntwo\r\n0\r\n\r\n"]
        writes.clear()
        await ask(port, "GET /parts", until=b"0\r\n\r\n")
        assert writes == [head + b"4\r\none \r\n", b"3\r\ntwo\r\n0\r\n\r\n"]


async def test_a_head_without_a_body_leaves_by_itself() -> None:
    async with serving() as port:
        assert await ask(port, "HEAD /", until=b"\r\n\r\n") == HEAD + b"\r\n"
        empty = await ask(port, "GET /empty", until=b"\r\n\r\n")
        assert empty == b"HTTP/1.1 204 No Content\r\n\r\n"
        closing = await ask(port, "HEAD /", header=b"connection: close\r\n")
        assert closing == HEAD + b"connection: close\r\n\r\n"


async def test_a_head_whose_body_fails_leaves_before_the_connection_closes() -> None:
    async with serving() as port:
        assert (await ask(port, "GET /fails")).startswith(HEAD)
        assert (await ask(port, "GET /none")).startswith(b"HTTP/1.1 500")


async def test_answers_to_requests_that_came_together_stay_in_order() -> None:
    async with serving() as port:
        asked = ("HEAD /", "GET /parts", "GET /empty", "GET /large", "GET /")
        received = await ask(port, *asked, "GET /fails")
        heads = [piece.partition(b"\r\n\r\n") for piece in received.split(b"HTTP/1.1 ")[1:]]
        assert [head[:3] for head, _, _ in heads] == [
            b"200",
            b"200",
            b"204",
            b"200",
            b"200",
            b"200",
        ]
        assert [len(body) for _, _, body in heads[:3]] == [0, 22, 0]


async def test_leave_to_send_a_body_is_not_held_back() -> None:
    async with serving() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 1\r\n")
        writer.write(b"\r\n")
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"x")
        assert (await reader.readuntil(b"0\r\n\r\n")).startswith(HEAD)
        writer.close()


@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_that_asked_twice_and_leaves_stops_its_run(
    start: Start, stream: bool
) -> None:
    async with start("local") as bench:
        bench.orchestrator.script = [[text("x")], 60.0]
        _, writer = await bench.connect()
        writer.write(request(stream=stream) * 2)
        async with asyncio.timeout(2):
            while not bench.orchestrator.running:
                await asyncio.sleep(0.002)
            writer.transport.abort()
            while bench.orchestrator.running:
                await asyncio.sleep(0.002)
        assert len(bench.orchestrator.requests) == 1
