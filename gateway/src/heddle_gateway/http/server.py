"""Serving the gateway over HTTP."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Protocol

import httptools  # uvicorn would silently use a parser that costs a fifth more
import structlog
import uvicorn
from starlette.types import ASGIApp

from heddle_gateway.http.limited_protocol import limited_protocol
from heddle_gateway.settings import GatewaySettings

log = structlog.get_logger(__name__)
BACKLOG = 2048
_LAST_WORDS = 2.0
"""Seconds for the errors that end open streams to go out."""


class Gateway(Protocol):
    """An application that can be stopped gracefully."""

    application: ASGIApp
    """The application with its middleware."""

    def working(self) -> AbstractAsyncContextManager[None]:
        """Work on batches until the block ends."""

    def drain(self) -> None:
        """Report on `/health` that new requests should go to another gateway."""

    def end_streams(self) -> None:
        """End the running responses with an error that gives the reason."""


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave signals to the process: other services may live in it, too."""
        yield


@asynccontextmanager
async def serving(gateway: Gateway, settings: GatewaySettings) -> AsyncGenerator[str]:
    """Serve until the block is left; yield the address, the port filled in.

    At the end new requests are sent elsewhere first, then running ones get
    `settings.shutdown_grace` seconds, and streams that are longer end with an error.
    """
    listener = _listen(settings.listen)
    address = _address(listener)
    config = uvicorn.Config(
        gateway.application,
        interface="asgi3",
        http=limited_protocol(settings.body_timeout_seconds),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # nothing here believes what a header says of the client
        timeout_keep_alive=settings.idle_timeout_seconds,
    )
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        while not server.started:
            if task.done():
                task.result()
                raise RuntimeError("The HTTP server ended while it started.")
            await asyncio.sleep(0.005)
        log.info("serving", address=address, parser=f"httptools {httptools.__version__}")
        async with gateway.working():
            yield address
        gateway.drain()
        await asyncio.sleep(settings.drain_wait)
    finally:
        await _stop(server, task, gateway, settings.shutdown_grace)
        log.info("stopped", address=address)


async def _stop(
    server: uvicorn.Server, task: "asyncio.Task[None]", gateway: Gateway, grace: float
) -> None:
    server.should_exit = True
    await asyncio.wait({task}, timeout=grace)
    if not task.done():
        gateway.end_streams()
        await asyncio.wait({task}, timeout=_LAST_WORDS)
    server.force_exit = True
    await task


def _listen(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, int(port)), family=family, backlog=BACKLOG)
    # Connections inherit it. asyncio would set it, too, but only on sockets that name their
    # protocol; without it the body of an answer waits 40 ms for the client to confirm the head.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    host = "127.0.0.1" if host in ("0.0.0.0", "::") else host  # noqa: S104 - compared, not bound
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
