"""The reference: the least that one hop in Python can do.

A raw ASGI application that hands bytes from aiohttp to uvicorn and looks at none of them. What
Heddle costs is told as a multiple of what this costs.

Run as `python -m benchmarks.gateway.reference PORT UPSTREAM_PORT`.
"""

import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import aiohttp
import uvicorn

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class Proxy:
    """Sends every request on to the upstream."""

    def __init__(self, upstream: str) -> None:
        self._upstream = upstream
        self._session: aiohttp.ClientSession | None = None

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one request, or the application's life."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            await self._forward(scope, await read(receive), send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(self._upstream, connector=connector) as self._session:
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    async def _forward(self, scope: Message, body: bytes, send: Send) -> None:
        assert self._session is not None  # noqa: S101 - uvicorn starts the life before requests
        headers = {"content-type": "application/json"}
        async with self._session.request(
            scope["method"], scope["path"], data=body, headers=headers
        ) as answer:
            kind = answer.headers.get("content-type", "").encode()
            length = answer.headers.get("content-length", "").encode()
            kept = [(b"content-type", kind), *([(b"content-length", length)] if length else [])]
            await send({"type": "http.response.start", "status": answer.status, "headers": kept})
            async for piece in answer.content.iter_any():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


async def read(receive: Receive) -> bytes:
    """Return the whole body of a request."""
    pieces = []
    while True:
        message = await receive()
        pieces.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(pieces)


if __name__ == "__main__":
    uvicorn.run(
        Proxy(f"http://127.0.0.1:{sys.argv[2]}"),
        port=int(sys.argv[1]),
        http="httptools",
        loop="uvloop",
        access_log=False,
        proxy_headers=False,
        log_level="warning",
    )
