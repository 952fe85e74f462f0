"""Threat 16: a client, a provider or a tool sends more than Heddle can hold."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from gateway.bare_sockets import HEAD, ask
from gateway.conftest import gateway
from heddle_gateway.openai.chat.message_schema import MAX_MESSAGES, MAX_PARTS
from heddle_gateway.openai.chat.request import MAX_PARTS_IN_ALL
from heddle_gateway.openai.chat.schema import MAX_FUNCTIONS
from runtime.examples import sampled

PART = {"type": "text", "text": "a"}


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def declared(number: int) -> dict[str, Any]:
    return {"type": "function", "function": {"name": f"f{number}"}}


COUNTS: dict[int, Callable[[int], dict[str, Any]]] = {
    MAX_MESSAGES: lambda count: {"messages": [user("a")] * count},
    MAX_PARTS: lambda count: {"messages": [user([PART] * count)]},
    MAX_FUNCTIONS: lambda count: {"tools": [*map(declared, range(count))]},
    MAX_PARTS_IN_ALL: lambda count: {
        "messages": [
            *[user([PART] * 1_000)] * 9,
            user([PART] * 500),
            user([PART] * (count - 9_500)),
        ]
    },
}


@pytest.mark.parametrize("beyond", [-1, 0, 1])
@pytest.mark.parametrize("most", sampled(COUNTS, 2))
async def test_a_request_has_at_most_so_many_items(most: int, beyond: int) -> None:
    async with gateway() as bench:
        for stream in (False, True):
            response = await bench.chat(stream=stream, **COUNTS[most](most + beyond))
            assert response.status_code == (400 if beyond > 0 else 200)


@pytest.mark.parametrize("size", [1000, 1001])
async def test_a_body_may_have_exactly_its_largest_size(size: int) -> None:
    async with gateway(max_body_bytes=1000) as bench:
        body = b'{"model":"1","messages":[{"role":"user","content":"hi"}],"x":"'
        body += b"x" * (size - len(body) - 2) + b'"}'
        response = await bench.client.post("/v1/chat/completions", content=body)
        assert response.status_code == (200 if size == 1000 else 413)


async def test_a_large_body_is_refused_however_it_is_announced() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(30):
            yield b"x" * 100

    async with gateway(max_body_bytes=1000) as bench:
        chunked = await bench.client.post("/v1/chat/completions", content=pieces())
        assert (chunked.status_code, chunked.json()["error"]["code"]) == (413, "request_too_large")
        huge = HEAD + "content-length: 99999999\r\nexpect: 100-continue\r\n\r\n"
        assert (await ask(bench, huge.encode())).startswith(b"HTTP/1.1 413")
        endless = HEAD + "content-length: 99999999\r\n\r\n"
        for sent in (b"", b"x" * 5000):
            reader, writer = await bench.connect()
            writer.write(endless.encode() + sent)
            async with asyncio.timeout(2):  # the body is not waited for
                assert (await reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 413")
            writer.close()
            await writer.wait_closed()


async def test_a_client_that_sends_all_of_a_large_body_first_reads_the_refusal() -> None:
    async with gateway(max_body_bytes=1000) as bench:
        for _ in range(2):  # on one connection
            response = await bench.client.post("/v1/chat/completions", content=b"x" * 20_000_000)
            assert response.status_code == 413


async def test_a_head_that_is_too_large_is_refused() -> None:
    async with gateway() as bench:
        answer = await ask(bench, HEAD.encode() + b"a: " + b"b" * 70_000)
        assert answer.startswith(b"HTTP/1.1 431")
