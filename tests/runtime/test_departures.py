"""`heddle_runtime.departures`."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from heddle_runtime.departures import Departures


@asynccontextmanager
async def connection() -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Yield the reader of one end, and the writer of the other."""
    accepted: asyncio.Queue[asyncio.StreamReader] = asyncio.Queue()
    server = await asyncio.start_server(lambda reader, _: accepted.put_nowait(reader), "127.0.0.1")
    async with server:
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        try:
            yield await accepted.get(), writer
        finally:
            writer.close()


async def test_what_one_turn_sends_arrives_in_order() -> None:
    departures = Departures()

    async with connection() as (reader, writer):
        for message in (b"a", b"b", b"c"):
            departures.add(writer.transport, message)
        first = await reader.readexactly(3)
        departures.add(writer.transport, b"d")

        assert first == b"abc"
        assert await reader.readexactly(1) == b"d"


async def test_what_waits_can_be_sent_before_the_connection_closes() -> None:
    departures = Departures()

    async with connection() as (reader, writer):
        departures.add(writer.transport, b"last words")
        departures.leave()
        writer.close()

        assert await reader.read() == b"last words"


async def test_a_closed_connection_keeps_nobody_from_leaving() -> None:
    departures = Departures()

    async with connection() as (reader, writer), connection() as (cut, closed):
        departures.add(closed.transport, b"too late")
        departures.add(writer.transport, b"in time")
        closed.transport.abort()

        assert await reader.readexactly(7) == b"in time"
        assert await cut.read() == b""
