"""Requests over a bare socket, which no client library would send."""

import asyncio

from gateway.conftest import KEY, Bench

HEAD = f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {KEY}\r\n"


async def ask(bench: Bench, *pieces: bytes, pause: float = 0.0) -> bytes:
    """Send pieces over a bare socket and return all that comes back until it closes."""
    reader, writer = await bench.connect()
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)
        return await asyncio.wait_for(reader.read(), 5)
    finally:
        writer.close()
