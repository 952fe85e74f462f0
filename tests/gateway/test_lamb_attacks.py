"""Malicious requests for LAMB: each is rejected, or means the same on both sides of the gateway."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio
from gateway.bare_sockets import ask
from gateway.conftest import Bench, gateway
from gateway.replicas import server_port
from gateway.shelves import ON_SHARED_LOOP, SHARED_LOOP, SHARING
from lamb_stand_in.recorder import Recorder, recorder

HOST = b"host: lamb.example\r\n"
END = b"connection: close\r\n\r\n"
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nhost: lamb.example\r\n\r\n"

pytestmark = ON_SHARED_LOOP


def post(headers: bytes, body: bytes = b"", version: bytes = b"1.1") -> bytes:
    """Return a request with a body."""
    return b"POST /creator/x HTTP/" + version + b"\r\n" + HOST + headers + b"\r\n" + body


def get(target: bytes, headers: bytes = HOST, version: bytes = b"1.1") -> bytes:
    """Return a request without a body."""
    return b"GET " + target + b" HTTP/" + version + b"\r\n" + headers + END


REJECTED = {
    "a length and chunks": post(
        b"content-length: 5\r\ntransfer-encoding: chunked\r\n", b"0\r\n\r\n" + SMUGGLED
    ),
    "chunks and a length": post(
        b"transfer-encoding: chunked\r\ncontent-length: 5\r\n", b"0\r\n\r\n" + SMUGGLED
    ),
    "two lengths that differ": post(b"content-length: 0\r\ncontent-length: 47\r\n", SMUGGLED),
    "two lengths in one header": post(b"content-length: 5, 5\r\n", b"hello"),
    "a length with a sign": post(b"content-length: +5\r\n", b"hello"),
    "a hexadecimal length": post(b"content-length: 0x5\r\n", b"hello"),
    "a negative length": post(b"content-length: -5\r\n", b"hello"),
    "a length beyond all limits": post(b"content-length: 99999999999999999999999\r\n", b"hello"),
    "a space before the colon": post(b"content-length : 5\r\n", b"hello"),
    "a transfer coding that only some read": post(
        b"transfer-encoding: xchunked\r\n", b"0\r\n\r\n" + SMUGGLED
    ),
    "chunked before another coding": post(
        b"transfer-encoding: chunked, identity\r\n", b"0\r\n\r\n" + SMUGGLED
    ),
    "a coding before chunked": post(
        b"transfer-encoding: gzip, chunked\r\n" + END[:-2], b"0\r\n\r\n"
    ),
    "two transfer codings": post(
        b"transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n", b"0\r\n\r\n" + SMUGGLED
    ),
    "a vertical tab before chunked": post(
        b"transfer-encoding: \x0bchunked\r\n", b"0\r\n\r\n" + SMUGGLED
    ),
    "chunks in HTTP/1.0": post(b"transfer-encoding: chunked\r\n", b"0\r\n\r\n", version=b"1.0"),
    "a chunk size that is no number": post(
        b"transfer-encoding: chunked\r\n", b"xyz\r\nhello\r\n0\r\n\r\n"
    ),
    "a chunk that is longer than its size": post(
        b"transfer-encoding: chunked\r\n", b"2\r\nhello\r\n0\r\n\r\n"
    ),
    "lines that end with LF only": b"GET /creator/x HTTP/1.1\nhost: lamb.example\n\n",
    "a folded header": get(b"/creator/x", HOST + b"x-a: one\r\n two\r\n"),
    "a header with a bare CR": get(b"/creator/x", HOST + b"x-a: one\rx-b: two\r\n"),
    "a header with NUL": get(b"/creator/x", HOST + b"x-a: one\0two\r\n"),
    "a header without a name": get(b"/creator/x", HOST + b": value\r\n"),
    "no host": get(b"/creator/x", b""),
    "two hosts": get(b"/creator/x", HOST + b"host: evil.example\r\n"),
    "a host with a path": get(b"/creator/x", b"host: lamb.example/evil\r\n"),
    "a host with credentials": get(b"/creator/x", b"host: user@lamb.example\r\n"),
    "the address of another host": get(b"http://evil.example/creator/x"),
    "the address of another scheme": get(b"ftp://lamb.example/creator/x"),
    "an address with credentials": get(b"http://lamb.example@evil.example/creator/x"),
    "a tunnel": b"CONNECT evil.example:443 HTTP/1.1\r\nhost: evil.example:443\r\n\r\n",
    "TRACE": b"TRACE /creator/x HTTP/1.1\r\n" + HOST + END,
    "a target of all": b"OPTIONS * HTTP/1.1\r\n" + HOST + END,
    "a parent folder": get(b"/static/../v1/chat/completions"),
    "an encoded parent folder": get(b"/static/%2e%2E/v1/chat/completions"),
    "an encoded slash before a parent folder": get(b"/static/a%2F..%2f..%2fv1/models"),
    "a backslash": get(b"/static/..\\v1/models"),
    "a line break in the path": get(b"/creator/x%0d%0aset-cookie:%20a"),
    "NUL in the path": get(b"/creator/x%00.png"),
    "the beginning of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a version that does not exist": get(b"/creator/x", version=b"9.9"),
}


@dataclass(frozen=True)
class Sent:
    """A request that is unusual and means one thing."""

    raw: bytes
    method: str = "GET"
    target: str = "/creator/x"
    body: bytes = b""
    absent: tuple[str, ...] = ()
    """Headers that LAMB must not get."""


CHUNKS = b"5;ext=1\r\nhello\r\n0\r\nx-trailer: 1\r\n\r\n"
UNCHANGED = {
    "the address of the same host": Sent(get(b"http://lamb.example/creator/x")),
    "two slashes": Sent(get(b"//evil.example/x"), target="//evil.example/x"),
    "a parent folder in the query": Sent(
        get(b"/creator/x?file=../../etc/passwd"), target="/creator/x?file=../../etc/passwd"
    ),
    "a parent folder that is encoded twice": Sent(
        get(b"/static/%252e%252e/x"), target="/static/%252e%252e/x"
    ),
    "chunks with an extension and a trailer": Sent(
        post(b"transfer-encoding: Chunked\r\n" + END[:-2], CHUNKS),
        "POST",
        body=b"hello",
        absent=("x-trailer",),
    ),
    "a body that looks like a request": Sent(
        post(b"content-length: %d\r\n" % len(SMUGGLED) + END[:-2], SMUGGLED), "POST", body=SMUGGLED
    ),
    "headers that Connection declares": Sent(
        get(b"/creator/x", HOST + b"connection: x-forwarded-for, host, x-a\r\nx-a: 1\r\n"),
        absent=("x-a",),
    ),
    "an upgrade that nobody knows": Sent(
        b"POST /creator/x HTTP/1.1\r\n" + HOST + b"connection: upgrade, close\r\nupgrade: h2c\r\n"
        b"http2-settings: AAMAAABkAAQAoAAAAAIAAAAA\r\ncontent-length: 5\r\n\r\nhello",
        "POST",
        body=b"hello",
        absent=("upgrade", "http2-settings"),
    ),
    "HTTP/1.0 without a host": Sent(get(b"/creator/x", b"", version=b"1.0")),
    "an unknown method": Sent(b"PROPFIND /creator/x HTTP/1.1\r\n" + HOST + END, "PROPFIND"),
}


@pytest_asyncio.fixture(scope=SHARING, loop_scope=SHARED_LOOP)
async def recorder_of_all() -> AsyncIterator[Recorder]:
    async with recorder(server_port()) as running:
        yield running


@pytest_asyncio.fixture(scope=SHARING, loop_scope=SHARED_LOOP)
async def bench(recorder_of_all: Recorder) -> AsyncIterator[Bench]:
    """A gateway in front of LAMB, for all tests."""
    limits: dict[str, Any] = {"body_timeout_seconds": 1, "idle_timeout_seconds": 1}
    async with gateway(lamb_url=recorder_of_all.url, **limits) as it:
        yield it


@pytest.fixture
def behind(recorder_of_all: Recorder) -> Recorder:
    """What LAMB gets in a test."""
    recorder_of_all.requests.clear()
    recorder_of_all.problems.clear()
    return recorder_of_all


@pytest.mark.parametrize("name", REJECTED)
async def test_a_malicious_request_is_rejected(bench: Bench, behind: Recorder, name: str) -> None:
    response = await ask(bench, REJECTED[name])
    status = response.split(b" ", 2)[1] if response else b""
    assert status in (b"", b"400", b"405", b"408", b"413", b"501"), response
    assert response.count(b"HTTP/1.1 ") <= 1, "the body was read as another request"
    assert behind.requests == []


@pytest.mark.parametrize("name", UNCHANGED)
async def test_an_unusual_request_means_the_same_behind_the_gateway(
    bench: Bench, behind: Recorder, name: str
) -> None:
    sent = UNCHANGED[name]
    response = await ask(bench, sent.raw)
    assert response.startswith(b"HTTP/1.1 200 "), response
    assert behind.problems == []
    (got,) = behind.requests
    assert (got.method, got.target, got.body) == (sent.method, sent.target, sent.body)
    names = [name for name, _ in got.headers]
    assert names.count("host") == names.count("x-forwarded-for") == 1
    assert not {*sent.absent, "connection", "te"} & {*names}
    assert not {"content-length", "transfer-encoding"} <= {*names}
    assert len(set(names)) == len(names)


async def test_requests_in_one_packet_are_answered_one_after_another(
    bench: Bench, behind: Recorder
) -> None:
    first = post(b"content-length: 5\r\n", b"hello")
    response = await ask(bench, first + get(b"/creator/y"))
    assert response.count(b"HTTP/1.1 200 ") == 2
    assert [each.target for each in behind.requests] == ["/creator/x", "/creator/y"]
    assert behind.problems == []


async def test_bytes_behind_an_offer_of_messages_are_requests_of_their_own(
    bench: Bench, behind: Recorder
) -> None:
    offer = (
        b"GET /live HTTP/1.1\r\n" + HOST + b"connection: Upgrade\r\nupgrade: websocket\r\n"
        b"sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    response = await ask(bench, offer + get(b"/creator/y"))
    assert response.count(b"HTTP/1.1 200 ") == 2
    assert [each.target for each in behind.requests] == ["/live", "/creator/y"]


async def test_at_least_33_malicious_requests_are_tried() -> None:
    assert len(REJECTED) >= 33
