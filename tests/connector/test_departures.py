"""`heddle_connector.departures`."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from heddle_connector.departures import Departures


@asynccontextmanager
async def connection() -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Yield the reader of one end, and the writer of the other."""
    accepted: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
    server = await asyncio.start_server(lambda *ends: accepted.put_nowait(ends), "127.0.0.1")
    async with server:
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        reader, other = await accepted.get()
        try:
            yield reader, writer
        finally:
            for each in (writer, other):
                each.transport.abort()
            await asyncio.sleep(0)  # they close in the loop's next turn


async def test_what_one_turn_sends_arrives_in_order() -> None:
    departures = Departures()

    async with connection() as (reader, writer):
        for message in (b"a", b"b", b"c"):
            departures.add(writer.transport, message)
        first = await reader.readexactly(3)
        departures.add(writer.transport, b"d")

        assert first == b"abc"
        assert await reader.readexactly(1) == b"d"


async def test_a_closed_connection_keeps_nobody_from_leaving() -> None:
    departures = Departures()

    async with connection() as (reader, writer), connection() as (cut, closed):
        departures.add(closed.transport, b"too late")
        departures.add(writer.transport, b"in time")
        closed.transport.abort()

        assert await reader.readexactly(7) == b"in time"
        assert await cut.read() == b""
