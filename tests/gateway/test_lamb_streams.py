"""Long bodies, WebSockets and failures between clients and LAMB."""

import asyncio
import gc
import hashlib
import socket
import tracemalloc
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import aiohttp
import httpx
import pytest
from gateway.conftest import gateway
from gateway.replicas import gateways_in_use, server_port
from gateway.test_lamb_proxy import Front
from lamb_stand_in.server import PART, lamb
from patience import until

LATEST_SECONDS = 0.25
MIB = 1024 * 1024
MAX_MEMORY = 8 * MIB
"""What the gateway, the stand-in and the client may hold of a body together."""


@pytest.fixture
async def front() -> AsyncIterator[Front]:
    """A gateway with its defaults in front of LAMB."""
    async with lamb(server_port()) as behind, gateway(lamb_url=behind.url) as bench:
        yield Front(bench, behind)


async def parts(count: int) -> AsyncIterator[bytes]:
    """Yield the parts of a body."""
    for _ in range(count):
        yield PART


def digest(count: int) -> str:
    """Return the digest of a body of so many parts."""
    whole = hashlib.sha256()
    for _ in range(count):
        whole.update(PART)
    return whole.hexdigest()


SIZES = [
    pytest.param(32 * 16, id="32 MiB"),
    pytest.param(1024 * 16, marks=[pytest.mark.exhaustive, pytest.mark.timeout(600)], id="1 GiB"),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize("framing", ["length", "chunked"])
@pytest.mark.parametrize("count", SIZES)
async def test_a_large_upload_needs_constant_memory(front: Front, count: int, framing: str) -> None:
    headers = {"content-length": str(count * len(PART))} if framing == "length" else {}
    gc.collect()
    tracemalloc.start()
    try:
        response = await front.client.post(
            "/sink", content=parts(count), headers=headers, timeout=None
        )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert response.json() == {"size": count * len(PART), "sha256": digest(count)}
    assert peak < MAX_MEMORY


@pytest.mark.exhaustive
@pytest.mark.parametrize("framing", ["length", "chunked"])
@pytest.mark.parametrize("count", SIZES)
async def test_a_large_download_needs_constant_memory(
    front: Front, count: int, framing: str
) -> None:
    received = hashlib.sha256()
    gc.collect()
    tracemalloc.start()
    try:
        path = f"/source?parts={count}&{framing}"
        async with front.client.stream("GET", path, timeout=None) as response:
            async for data in response.aiter_raw():
                received.update(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert received.hexdigest() == digest(count)
    assert peak < MAX_MEMORY


async def test_a_client_that_reads_slowly_slows_lamb_down(front: Front) -> None:
    async with front.client.stream("GET", "/source?parts=1600") as response:
        body = response.aiter_raw()
        await anext(body)
        tracemalloc.start()
        await asyncio.sleep(0.5)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < MAX_MEMORY
        assert front.lamb.open == 1
    await until(lambda: front.lamb.open == 0)


async def test_a_file_is_uploaded_through_a_form(front: Front) -> None:
    content = PART * 40
    response = await front.client.post("/creator/files/upload", files={"file": ("a.pdf", content)})
    assert response.json()["size"] == len(content)
    assert front.lamb.files["a.pdf"] == (len(content), hashlib.sha256(content).hexdigest())


async def left_at(front: Front, head: bytes, holds: Callable[[], object]) -> float:
    """Send a request, leave when `holds`, and return the time on the clock of the event loop."""
    host, _, port = front.bench.address.rpartition(":")
    _, writer = await asyncio.open_connection(host, int(port))
    writer.write(head)
    await until(holds)
    closed = asyncio.get_running_loop().time()
    writer.close()
    return closed


HEAD = b" HTTP/1.1\r\nhost: lamb.example\r\n"


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(b"GET /slow?seconds=60" + HEAD + b"\r\n", id="while LAMB works"),
        pytest.param(b"GET /events" + HEAD + b"\r\n", id="within a stream"),
        pytest.param(b"GET /source?parts=100000" + HEAD + b"\r\n", id="within a download"),
        pytest.param(
            b"POST /sink" + HEAD + b"content-length: 99999\r\n\r\nbegin", id="within an upload"
        ),
    ],
)
async def test_a_client_that_leaves_closes_the_connection_to_lamb_at_once(
    front: Front, head: bytes
) -> None:
    closed = await left_at(front, head, lambda: front.lamb.open == 1)
    await until(lambda: front.lamb.open == 0, 5)
    assert front.lamb.closed_at - closed < LATEST_SECONDS


async def test_an_upload_that_lamb_does_not_read_ends_after_the_time_of_the_setting() -> None:
    loop = asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)  # noqa: FBT003 - its only parameter
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        async with gateway(lamb_url=url, lamb_timeout_seconds=0.3) as bench:
            sending = asyncio.create_task(bench.client.post("/sink", content=bytes(20 * MIB)))
            behind, _ = await loop.sock_accept(listener)
            with behind:
                response = await asyncio.wait_for(sending, 5)
            assert response.status_code == 504
            assert response.json()["error"]["code"] == "lamb_timeout"


async def test_an_early_response_to_an_upload_reaches_the_client(front: Front) -> None:
    head = (
        b"POST /creator/login" + HEAD + b"content-type: text/x\r\ncontent-length: 9999999\r\n\r\n"
    )
    host, _, port = front.bench.address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(head + b"no form")
    status = await asyncio.wait_for(reader.readline(), 5)
    assert status.startswith(b"HTTP/1.1 ")
    writer.close()


async def test_a_websocket_works_in_both_directions(front: Front) -> None:
    async with (
        aiohttp.ClientSession(front.bench.url) as session,
        session.ws_connect("/live", protocols=("other", "lamb.v1"), max_msg_size=0) as messages,
    ):
        assert messages.protocol == "lamb.v1"
        assert await messages.receive_str() == "welcome"
        await messages.send_str("à bientôt")
        assert await messages.receive_str() == "à bientôt"
        large = bytes(3 * MIB)
        await messages.send_bytes(large)
        assert await messages.receive_bytes() == large
        await messages.ping()
        await messages.send_str("leave")
        closing = await messages.receive()
        assert (closing.type, closing.data) == (aiohttp.WSMsgType.CLOSE, 4001)
    await until(lambda: front.lamb.open == 0)


async def test_a_websocket_whose_client_leaves_is_closed_at_once(front: Front) -> None:
    async with aiohttp.ClientSession(front.bench.url) as session:
        messages = await session.ws_connect("/live")
        assert await messages.receive_str() == "welcome"
        closed = asyncio.get_running_loop().time()
        response: Any = messages._response  # noqa: SLF001 - it has the transport
        response.connection.transport.abort()
        await until(lambda: front.lamb.open == 0, 5)
        assert front.lamb.closed_at - closed < LATEST_SECONDS
        await messages.close()


async def test_a_websocket_that_lamb_refuses_is_an_ordinary_response(front: Front) -> None:
    async with aiohttp.ClientSession(front.bench.url) as session:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect("/creator/me")
    assert refused.value.status == 403


async def test_a_websocket_to_a_route_of_heddle_is_an_ordinary_request(front: Front) -> None:
    async with aiohttp.ClientSession(front.bench.url) as session:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect("/status")
    assert refused.value.status == 200


async def test_a_websocket_on_which_nothing_is_sent_ends() -> None:
    async with (
        lamb(server_port()) as behind,
        gateway(lamb_url=behind.url, lamb_timeout_seconds=0.3) as bench,
        aiohttp.ClientSession(bench.url) as session,
        session.ws_connect("/live") as messages,
    ):
        assert await messages.receive_str() == "welcome"
        assert (await messages.receive()).type in (
            aiohttp.WSMsgType.CLOSED,
            aiohttp.WSMsgType.ERROR,
        )


async def test_a_gateway_that_stops_ends_streams_and_websockets() -> None:
    async with lamb(server_port()) as behind:
        async with gateway(lamb_url=behind.url) as bench:
            session = aiohttp.ClientSession(bench.url)
            messages = await session.ws_connect("/live")
            assert await messages.receive_str() == "welcome"
            stream = asyncio.create_task(bench.client.get("/events"))
            await until(lambda: behind.open == 2)
        await until(lambda: behind.open == 0)
        with suppress(httpx.HTTPError):
            await stream
        await messages.close()
        await session.close()


@pytest.mark.parametrize("path", ["/broken", "/broken?chunked"])
async def test_a_body_that_lamb_cuts_is_cut_for_the_client(front: Front, path: str) -> None:
    async with front.client.stream("GET", path) as response:
        assert response.status_code == 200
        with pytest.raises(httpx.RemoteProtocolError):
            await response.aread()


async def test_a_lamb_that_ends_before_its_response_is_an_error(front: Front) -> None:
    response = await front.client.get("/broken?early")
    assert response.status_code == 502
    assert response.json()["error"]["code"] == "lamb_cut"
    assert response.headers["x-request-id"] in response.json()["detail"]


async def test_a_lamb_that_is_down_is_an_error_that_says_when_to_retry() -> None:
    async with lamb() as behind:
        url = behind.url
    async with gateway(lamb_url=url) as bench:
        response = await bench.client.post("/creator/login", data={"email": "a", "password": "b"})
        assert response.status_code == 503
        assert response.json()["error"]["code"] == "lamb_unreachable"
        assert response.headers["retry-after"] == "2"
        health = (await bench.client.get("/health")).json()
        assert health["services"]["lamb"] is False
        details = (await bench.client.get("/health/details")).json()
        assert "HEDDLE_LAMB_URL" in details["services"]["lamb"]["problem"]
        assert (await bench.client.get("/v1/models")).status_code == 200


async def test_the_health_names_lamb_while_it_runs(front: Front) -> None:
    assert (await front.client.get("/health")).json()["services"]["lamb"] is True


async def test_a_lamb_that_is_slow_is_an_error_after_the_time_of_the_setting() -> None:
    async with (
        lamb(server_port()) as behind,
        gateway(lamb_url=behind.url, lamb_timeout_seconds=0.2) as bench,
    ):
        response = await bench.client.get("/slow?seconds=5")
        assert response.status_code == 504
        assert response.json()["error"]["code"] == "lamb_timeout"
        await until(lambda: behind.open == 0)
        assert (await bench.client.get("/slow?seconds=0.1")).json() == {"late": True}


async def test_what_is_not_http_is_an_error() -> None:
    assert await status_and_code(b"SMTP 220 ready\r\n\r\n") == (502, "lamb_garbled")


async def status_and_code(response: bytes) -> tuple[int, str]:
    """Return what a client gets if LAMB sends `response` and keeps the connection open."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(response)
        await reader.read()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    async with server, gateway(lamb_url=f"http://{host}:{port}") as bench:
        error = await bench.client.get("/creator/me")
        return error.status_code, error.json()["error"]["code"]


async def test_bytes_behind_a_response_are_not_the_response_to_another_request() -> None:
    heads: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        text = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n"
        writer.write(text + b"ok" + text + b"no")
        await reader.read()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    async with server, gateway(lamb_url=f"http://{host}:{port}") as bench:
        for _ in range(3 * gateways_in_use()):
            assert (await bench.client.get("/creator/me")).text == "ok"
    assert len(heads) == 3 * gateways_in_use()


@pytest.mark.parametrize(
    "response",
    [
        b"200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello",
        b"200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"700 Other\r\ncontent-length: 0\r\n\r\n",
        b"101 Switching Protocols\r\nupgrade: websocket\r\n\r\n",
        b"200 OK\r\nx: " + bytes(200 * 1024),
    ],
    ids=["two framings", "two lengths", "another coding", "status", "not offered", "a long head"],
)
async def test_a_response_that_can_be_read_in_two_ways_is_an_error(response: bytes) -> None:
    assert await status_and_code(b"HTTP/1.1 " + response) == (502, "lamb_garbled")


async def test_more_requests_than_the_limit_are_refused_and_heddle_still_answers() -> None:
    async with (
        lamb(server_port()) as behind,
        gateway(lamb_url=behind.url, lamb_max_connections=2) as bench,
    ):
        most = 2 * gateways_in_use()
        waiting = [asyncio.create_task(bench.client.get("/slow?seconds=1")) for _ in range(most)]
        await until(lambda: behind.open == most)
        refused = await bench.client.get("/creator/me")
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "lamb_busy")
        assert (await bench.client.get("/v1/models")).status_code == 200
        assert {(await each).status_code for each in waiting} == {200}
        assert (await bench.client.get("/creator/echo")).status_code == 200


@pytest.mark.parametrize("framing", ["length", "chunked"])
async def test_a_body_above_the_limit_is_refused(framing: str) -> None:
    async with (
        lamb(server_port()) as behind,
        gateway(lamb_url=behind.url, lamb_max_body_bytes=MIB) as bench,
    ):
        headers = {"content-length": str(32 * len(PART))} if framing == "length" else {}
        response = await bench.client.post("/sink", content=parts(32), headers=headers)
        assert response.status_code == 413
        assert response.json()["error"]["code"] == "request_too_large"
        most = await bench.client.post("/sink", content=parts(16), headers={})
        assert most.json()["size"] == MIB


async def test_a_client_that_stops_sending_its_body_is_refused() -> None:
    async with (
        lamb(server_port()) as behind,
        gateway(lamb_url=behind.url, idle_timeout_seconds=1) as bench,
    ):
        host, _, port = bench.address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"POST /sink" + HEAD + b"content-length: 99\r\n\r\nbegin")
        assert b"408" in await asyncio.wait_for(reader.readline(), 5)
        writer.close()
        await until(lambda: behind.open == 0)
