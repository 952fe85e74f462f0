"""`heddle_connector.http.connection.WriteCoalescer`."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from heddle_connector.http.connection import WriteCoalescer


@asynccontextmanager
async def connection() -> AsyncGenerator[tuple[asyncio.WriteTransport, socket.socket]]:
    """Yield one end of a connection, and the socket at the other."""
    near, far = socket.socketpair()
    far.settimeout(0)
    loop = asyncio.get_running_loop()
    with far:
        transport, _ = await loop.create_connection(asyncio.Protocol, sock=near)
        try:
            yield transport, far
        finally:
            transport.abort()
            await asyncio.sleep(0)  # it closes in the loop's next turn


async def test_what_one_turn_sends_leaves_at_its_end_and_in_order() -> None:
    writer = WriteCoalescer()

    async with connection() as (transport, far):
        for message in (b"a", b"b", b"c"):
            writer.write(transport, message)
        with pytest.raises(BlockingIOError):
            far.recv(10)
        await asyncio.sleep(0)
        assert far.recv(10) == b"abc"

        writer.write(transport, b"d")
        await asyncio.sleep(0)
        assert far.recv(10) == b"d"


async def test_a_connection_that_closes_first_gets_nothing_and_holds_up_nobody() -> None:
    writer = WriteCoalescer()

    async with connection() as (transport, far), connection() as (closed, cut):
        writer.write(closed, b"too late")
        writer.write(transport, b"in time")
        closed.abort()
        await asyncio.sleep(0)

        assert far.recv(10) == b"in time"
        assert await asyncio.get_running_loop().sock_recv(cut, 10) == b""
