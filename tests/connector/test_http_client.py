"""The HTTP client over `http://` and `https://`: what a provider may do to a connection."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
import uvloop
from heddle_connector.http import HttpClient, Request, http_client
from heddle_runtime.errors import (
    DeadlineError,
    HeddleError,
    ProviderGarbledError,
    ProviderRefusedError,
    UnavailableError,
)
from heddle_runtime.identity.call_metadata import CALLER, Caller
from heddle_runtime.telemetry.spans import traced_call
from patience import settled, until
from recorded_spans import DRAWN, recorded

from connector.provider import Exchange, Provider, Script, provider
from connector.tls import Authority

Client = Callable[[Script], AbstractAsyncContextManager[tuple[HttpClient, Provider]]]


@pytest.fixture(params=["http", "https"])
def client(
    request: pytest.FixtureRequest, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> Client:
    """Return what runs a provider and a client for it, with and without TLS."""
    tls = authority.server_context() if request.param == "https" else None
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))

    @asynccontextmanager
    async def connected(script: Script) -> AsyncGenerator[tuple[HttpClient, Provider]]:
        async with provider(script, tls) as server, http_client(2) as http:
            yield http, server

    return connected


def saying(*pieces: bytes, keep: bool = True) -> Script:
    """Return a script that sends raw bytes, each piece a read of its own."""

    async def script(exchange: Exchange) -> None:
        exchange.keep = keep
        for piece in pieces:
            exchange.writer.write(piece)
            await asyncio.sleep(0.005)

    return script


def post(made: Any, seconds: float = 5, **headers: str) -> Request:
    return Request(f"{made.url}/v1/x", headers, seconds, b"{}")


async def got(http: HttpClient, request: Request, whole: bool) -> bytes:
    if whole:
        return await http.fetch(request)
    async with http.stream(request) as pieces:
        return b"".join([piece async for piece in pieces])


OK = b"HTTP/1.1 200 OK\r\n"
LENGTH = OK + b"Content-Length: 2\r\n\r\nhi"
CHUNKS = OK + b"Transfer-Encoding: chunked\r\n\r\n1;a=b\r\nh\r\n1\r\ni\r\n0\r\nTrailer: x\r\n\r\n"
GOOD = {
    "a length": ([LENGTH], True),
    "byte by byte": ([LENGTH[i : i + 1] for i in range(len(LENGTH))], True),
    "chunks": ([CHUNKS], True),
    "chunks, byte by byte": ([CHUNKS[i : i + 1] for i in range(len(CHUNKS))], True),
    "answers that announce the answer": (
        [b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n", LENGTH],
        True,
    ),
    "connection: close": (
        [OK + b"Connection: close\r\nContent-Length: 2\r\n\r\nhi"],
        False,
    ),
    "HTTP/1.0": ([b"HTTP/1.0 200 OK\r\n\r\nh", b"i"], False),
    "until the end of the connection": ([OK + b"\r\nh", b"i"], False),
    "more than was asked for": ([LENGTH + LENGTH], False),
    "rubbish after the answer": ([LENGTH + b"rubbish"], False),
}


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("name", GOOD)
async def test_every_form_of_a_body_is_read_and_its_connection_kept_or_not(
    client: Client, name: str, whole: bool
) -> None:
    pieces, kept = GOOD[name]
    async with client(saying(*pieces, keep=kept)) as (http, made):
        for _ in range(2):
            assert await got(http, post(made), whole) == b"hi"
        assert made.connections == (1 if kept else 2)


BIG = b"x" * 70_000
BAD = {
    "no HTTP": [b"SSH-2.0-x\r\n"],
    "another protocol": [b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"],
    "cut off, with a length": [OK + b"Content-Length: 3\r\n\r\nhi"],
    "cut off, in chunks": [OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n"],
    "a wrong chunk": [OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"],
    "two lengths": [OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
    "a huge header": [OK + b"X: " + BIG + b"\r\nContent-Length: 2\r\n\r\nhi"],
    "huge trailers": [
        OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"X: 1234\r\n" * 20_000 + b"\r\n"
    ],
    "a header without end": [OK + b"X: ", BIG],
    "a trailer without end": [OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: ", BIG],
    "a huge extension": [OK + b"Transfer-Encoding: chunked\r\n\r\n1;", BIG],
    "announcements without end": [b"HTTP/1.1 100 Continue\r\n\r\n" * 4000],
}


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("name", BAD)
async def test_what_is_no_answer_is_a_typed_error_and_not_repeated(
    client: Client, name: str, whole: bool
) -> None:
    async with client(saying(*BAD[name], keep=False)) as (http, made):
        with pytest.raises(ProviderGarbledError):
            await got(http, post(made), whole)
    assert len(made.exchanges) == 1


async def test_a_connection_that_closes_within_the_head_is_not_repeated(client: Client) -> None:
    async with client(saying(b"HTTP/1.1 20", keep=False)) as (http, made):
        with pytest.raises(UnavailableError):
            await http.fetch(post(made))
    assert len(made.exchanges) == 1


async def test_a_connection_that_grew_old_is_replaced_at_once_and_once(client: Client) -> None:
    async def script(exchange: Exchange) -> None:
        if len(made.exchanges) in (1, 3):
            await exchange.reply(200, "{}")
        else:
            exchange.keep = False  # closed under the request

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("heddle_connector.http.client._BACKOFF_SECONDS", 10.0)
        async with client(script) as (http, made):
            await http.fetch(post(made))
            begun = asyncio.get_running_loop().time()
            await http.fetch(post(made))
            assert asyncio.get_running_loop().time() - begun < 5  # without the pause
            with pytest.raises(UnavailableError):
                await http.fetch(post(made))
    assert len(made.exchanges) == 5
    assert made.connections == 3


async def test_an_idle_connection_that_receives_data_is_not_used_again(
    client: Client,
) -> None:
    async with client(saying(LENGTH, b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")) as (
        http,
        made,
    ):
        for _ in range(2):
            assert await http.fetch(post(made)) == b"hi"
            await until(made.exchanges[-1].reader.at_eof)
    assert made.connections == 2


async def test_a_fast_provider_waits_for_a_slow_reader(client: Client) -> None:
    sent = 0

    async def script(exchange: Exchange) -> None:
        nonlocal sent
        exchange.begin()
        for _ in range(1000):
            await exchange.send(b"x" * 65536)
            sent += 65536
        await exchange.end()

    async with (
        client(script) as (http, made),
        http.stream(post(made, seconds=20)) as pieces,
    ):
        size = len(await anext(pieces))
        assert await settled(lambda: sent) < 32_000_000  # what the kernel's buffers hold, and ours
        async for piece in pieces:
            assert len(piece) < 1024 * 1024
            size += len(piece)
    assert size == 65_536_000


@pytest.mark.parametrize("whole", [False, True])
async def test_the_seconds_of_a_request_cover_all_of_it(client: Client, whole: bool) -> None:
    async def script(exchange: Exchange) -> None:
        exchange.begin()
        while True:
            await exchange.send(b"x")
            await asyncio.sleep(0.01)

    async with client(script) as (http, made):
        with pytest.raises(DeadlineError):
            await got(http, post(made, seconds=0.2), whole)


async def test_an_endless_refusal_is_cut_off(client: Client) -> None:
    async def script(exchange: Exchange) -> None:
        exchange.writer.write(b"HTTP/1.1 400 No\r\nRetry-After: 7\r\n\r\n")
        while True:
            exchange.writer.write(b"x" * 65536)
            await exchange.writer.drain()

    async with client(script) as (http, made):
        for whole in (False, True):
            with pytest.raises(ProviderRefusedError) as caught:
                await got(http, post(made), whole)
            assert caught.value.retry_after == 7


async def test_a_request_that_is_repeated_is_an_event_of_the_span(client: Client) -> None:
    busy, answers = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", 0

    async def script(exchange: Exchange) -> None:
        nonlocal answers
        answers += 1
        exchange.writer.write(busy if answers == 1 else LENGTH)

    CALLER.set(Caller("req_1", traceparent=DRAWN))
    with recorded() as spans:
        async with client(script) as (http, made):
            await traced_call(http.fetch(post(made)), "chat m")
    [event] = spans.of("chat m").events
    assert (event.name, event.attributes) == ("retry", {"heddle.retry.reason": "overloaded"})


async def test_a_redirect_is_not_followed(client: Client) -> None:
    script = saying(b"HTTP/1.1 307 Go\r\nLocation: /y\r\nContent-Length: 0\r\n\r\n")
    async with client(script) as (http, made):
        with pytest.raises(ProviderRefusedError):
            await http.fetch(post(made))
    assert len(made.exchanges) == 1


async def test_the_time_to_connect_is_bounded() -> None:
    with socket.socket() as full:  # a queue of none that is full
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        url = f"http://127.0.0.1:{full.getsockname()[1]}"
        waiting = [socket.socket() for _ in range(4)]
        for other in waiting:
            other.settimeout(0)
            other.connect_ex(full.getsockname())
        async with http_client(0.2) as http:
            for seconds in (5.0, 0.1):
                with pytest.raises((UnavailableError, DeadlineError)):
                    await asyncio.wait_for(http.fetch(Request(url, {}, seconds, b"{}")), 6)
        for other in waiting:
            other.close()


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a" * 70, "127.0.0.1:1"])
async def test_a_host_that_is_not_there_is_unavailable(host: str) -> None:
    async with http_client(2) as http:
        with pytest.raises(UnavailableError):
            await http.fetch(Request(f"http://{host}/v1", {}, 5, b"{}"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x", "a\r\nevil: b"),
        ("x", "a\nb"),
        ("x", "a\0b"),
        ("x: y", "a"),
        ("", "a"),
        ("Content-Length", "7"),
        ("Transfer-Encoding", "chunked"),
    ],
)
async def test_a_header_cannot_smuggle_another(client: Client, name: str, value: str) -> None:
    async with client(saying(LENGTH)) as (http, made):
        with pytest.raises(ValueError, match="cannot be sent"):
            await http.fetch(Request(made.url, {name: value}, 5, b"{}"))
    assert made.exchanges == []


async def test_what_is_sent(client: Client) -> None:
    async with client(saying(LENGTH)) as (http, made):
        await http.fetch(Request(f"{made.url}/ä b?q=1\r\n 2", {"X-A": "ü"}, 5, b"{}"))
        await http.fetch(Request(made.url, {"user-agent": "me"}, 5))
    first, second = made.exchanges
    assert (first.method, first.path, first.body) == ("POST", "/%C3%A4%20b?q=1%202", b"{}")
    assert first.headers["host"] == made.url.partition("://")[2]
    assert first.headers["content-length"] == "2"
    assert (second.method, second.path) == ("GET", "/")
    assert second.headers["user-agent"] == "me"
    assert "content-length" not in second.headers


@pytest.mark.parametrize("with_port", [False, True])
async def test_only_servers_of_the_operator_get_the_ids_of_a_request(
    with_port: bool,
) -> None:
    CALLER.set(Caller("req_1", traceparent=DRAWN))
    async with provider(saying(LENGTH)) as own, provider(saying(LENGTH)) as other:
        address = own.url.partition("://")[2]
        listed = address if with_port else "localhost"
        async with http_client(2, traced=[listed]) as http:
            by_name = own.url if with_port else own.url.replace("127.0.0.1", "localhost")
            await http.fetch(Request(by_name, {}, 5, b"{}"))
            await http.fetch(Request(other.url, {}, 5, b"{}"))
    [sent], [elsewhere] = own.exchanges, other.exchanges
    assert (sent.headers["x-request-id"], sent.headers["traceparent"]) == ("req_1", DRAWN)
    assert not {"x-request-id", "traceparent"} & elsewhere.headers.keys()


async def test_leaving_a_stream_closes_its_connection_and_no_other(client: Client) -> None:
    gone = asyncio.Event()

    async def script(exchange: Exchange) -> None:
        exchange.begin()
        await exchange.send(b"hi")
        await exchange.gone()
        gone.set()

    async with client(script) as (http, made):
        async with http.stream(post(made)) as pieces:
            assert await anext(pieces) == b"hi"
        await asyncio.wait_for(gone.wait(), 2)


async def test_closing_the_client_ends_what_runs(client: Client) -> None:
    async def script(exchange: Exchange) -> None:
        begun.set()
        await exchange.gone()

    begun = asyncio.Event()
    async with client(script) as (_, made):
        async with http_client(2) as http:
            running = asyncio.ensure_future(http.fetch(post(made)))
            await begun.wait()
        with pytest.raises(UnavailableError):
            await asyncio.wait_for(running, 2)
    assert len(made.exchanges) == 1


async def test_connections_that_nobody_uses_are_closed(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.reply(200, "{}")
        await asyncio.sleep(0.02)  # so that each request needs a connection of its own

    monkeypatch.setattr("heddle_connector.http.pool._IDLE_SECONDS", 0.1)
    async with client(script) as (http, made):
        await asyncio.gather(*(http.fetch(post(made)) for _ in range(5)))
        await until(lambda: all(exchange.reader.at_eof() for exchange in made.exchanges))
        await http.fetch(post(made))
    assert made.connections == 6


@pytest.mark.exhaustive
def test_all_of_it_on_uvloop(client: Client) -> None:
    async def main() -> None:
        for name, (pieces, kept) in GOOD.items():
            async with client(saying(*pieces, keep=kept)) as (http, made):
                for whole in (False, True, False):
                    assert await got(http, post(made), whole) == b"hi", name
        for pieces in BAD.values():
            async with client(saying(*pieces, keep=False)) as (http, made):
                with pytest.raises(HeddleError):
                    await got(http, post(made), whole=True)
        await test_a_fast_provider_waits_for_a_slow_reader(client)
        await test_an_endless_refusal_is_cut_off(client)
        await test_a_connection_that_grew_old_is_replaced_at_once_and_once(client)
        await test_leaving_a_stream_closes_its_connection_and_no_other(client)

    uvloop.run(main())
