"""Bytes in both directions, after a request has changed to WebSocket messages."""

import asyncio
from collections.abc import Awaitable, Callable

import httpx
from heddle_gateway.http.raw import RawRequest

from heddle_migration_service.proxy.failures import GarbledError

CLOSE_SECONDS = 0.2
"""For the last bytes to go out after LAMB has closed."""
_PART_BYTES = 64 * 1024


async def relay(request: RawRequest, response: httpx.Response, head: bytes, seconds: float) -> None:
    """Hand on bytes in both directions until one side closes or both are silent.

    Args:
        request: The client's request.
        response: LAMB's response, after whose head messages follow.
        head: That of the response for the client.
        seconds: How long both sides may be silent.

    Raises:
        GarbledError: The client has sent more than its request.
    """
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    client = request.connection.take_over(protocol, head)
    if client is None:
        raise GarbledError("the client has sent more than its request")
    request.status = response.status_code
    protocol.connection_made(client)
    writer = asyncio.StreamWriter(client, protocol, reader, loop)
    lamb = response.extensions["network_stream"]

    async def to_client(data: bytes) -> None:
        writer.write(data)
        await writer.drain()

    async def copy(
        read: Callable[[int], Awaitable[bytes]], write: Callable[[bytes], Awaitable[None]]
    ) -> None:
        while data := await read(_PART_BYTES):
            silence.reschedule(loop.time() + seconds)
            await write(data)

    silence = asyncio.timeout(seconds)
    copies: list[asyncio.Task[None]] = []
    try:
        async with silence:
            copies = [
                loop.create_task(copy(lamb.read, to_client)),
                loop.create_task(copy(reader.read, lamb.write)),
            ]
            await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
    except TimeoutError:
        pass
    finally:
        for each in copies:
            each.cancel()
        await asyncio.gather(*copies, return_exceptions=True)
        writer.close()
        loop.call_later(CLOSE_SECONDS, client.abort)
