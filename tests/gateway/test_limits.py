"""Bodies and heads that are too large, too slow or no JSON."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from gateway.conftest import KEY, Bench, Start

HEAD = f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {KEY}\r\n"


async def ask(bench: Bench, *pieces: bytes, pause: float = 0.0) -> bytes:
    """Send pieces over a bare socket and return all that comes back until it closes."""
    host, _, port = bench.address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)
        return await asyncio.wait_for(reader.read(), 5)
    finally:
        writer.close()


@pytest.mark.parametrize("size", [1000, 1001])
async def test_a_body_may_have_exactly_its_largest_size(start: Start, size: int) -> None:
    async with start(max_body_bytes=1000) as bench:
        body = b'{"model":"1","messages":[{"role":"user","content":"hi"}],"x":"'
        body += b"x" * (size - len(body) - 2) + b'"}'
        response = await bench.client.post("/v1/chat/completions", content=body)
        assert response.status_code == (200 if size == 1000 else 413)


async def test_a_large_body_is_refused_however_it_is_announced(start: Start) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(30):
            yield b"x" * 100

    async with start(max_body_bytes=1000) as bench:
        chunked = await bench.client.post("/v1/chat/completions", content=pieces())
        assert (chunked.status_code, chunked.json()["error"]["code"]) == (413, "request_too_large")
        huge = HEAD + "content-length: 99999999\r\nexpect: 100-continue\r\n\r\n"
        assert (await ask(bench, huge.encode())).startswith(b"HTTP/1.1 413")
        endless = HEAD + "content-length: 99999999\r\n\r\n"
        assert (await ask(bench, endless.encode(), b"x" * 5000)).startswith(b"HTTP/1.1 413")


async def test_a_body_that_does_not_come_is_not_waited_for(start: Start) -> None:
    # Long enough for two hundred heads to be read on a busy machine.
    async with start(body_timeout_seconds=1.5) as bench:
        head = (HEAD + "content-length: 10\r\n\r\n").encode()
        answers = await asyncio.gather(*(ask(bench, head) for _ in range(200)))
        assert all(answer.startswith(b"HTTP/1.1 408") for answer in answers)
        trickle = await ask(bench, head, b"x", b"x", pause=0.1)
        assert trickle.startswith(b"HTTP/1.1 408")
        assert (await bench.chat()).status_code == 200


async def test_a_head_that_does_not_end_is_not_waited_for(start: Start) -> None:
    async with start(body_timeout_seconds=0.3) as bench:
        assert await ask(bench) == b""
        assert (await ask(bench, b"GET /status HT")).startswith(b"HTTP/1.1 408")
        trickle = await ask(bench, HEAD.encode(), b"a: b\r\n", b"a: b\r\n", pause=0.1)
        assert trickle.startswith(b"HTTP/1.1 408")
        second = await ask(bench, b"GET /status HTTP/1.1\r\nhost: a\r\n\r\nGET /sta")
        assert second.count(b"HTTP/1.1 200") == second.count(b"HTTP/1.1 408") == 1


async def test_a_head_that_is_too_large_is_refused(start: Start) -> None:
    async with start() as bench:
        answer = await ask(bench, HEAD.encode() + b"a: " + b"b" * 70_000)
        assert answer.startswith(b"HTTP/1.1 431")


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"a":' + b"[" * 100_000, b'{"a":1,"a":2}', b'{"a":NaN}', b"\xff"]
)
async def test_what_is_no_json_object_is_refused_in_words(start: Start, body: bytes) -> None:
    async with start() as bench:
        response = await bench.client.post("/v1/chat/completions", content=body)
        assert response.status_code == 400
        assert response.json()["error"]["type"] == "invalid_request_error"
        assert (await bench.chat()).status_code == 200


async def test_other_paths_and_methods_are_refused_in_openais_form(start: Start) -> None:
    async with start() as bench:
        missing = await bench.client.get("/v1/nothing")
        assert (missing.status_code, missing.json()["error"]["code"]) == (404, "unknown_url")
        wrong = await bench.client.get("/v1/chat/completions")
        assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")
        assert wrong.json()["error"]["code"] == "method_not_allowed"


async def test_head_is_answered_as_get_is_without_its_body(start: Start) -> None:
    async with start() as bench:
        for path in ("/health", "/v1/models", "/v1/models/none"):
            whole, head = await bench.client.get(path), await bench.client.head(path)
            assert (head.status_code, head.content) == (whole.status_code, b"")
            assert head.headers["content-length"] == str(len(whole.content))
        wrong = await bench.client.head("/v1/chat/completions")
        assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")
        assert (await bench.client.put("/health")).headers["allow"] == "GET, HEAD"


async def test_bytes_that_are_not_http_do_no_harm(start: Start) -> None:
    async with start() as bench:
        assert (await ask(bench, b"\x16\x03\x01\x02\x00\x01")).startswith(b"HTTP/1.1 400")
        assert (await bench.chat()).status_code == 200
