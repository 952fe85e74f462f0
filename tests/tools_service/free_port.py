"""Serves HTTP on a port that nobody else has."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def on_free_port(handler: Handler) -> AsyncGenerator[str]:
    """Yield the address at which `handler` answers every request."""
    runner = web.ServerRunner(web.Server(handler, access_log=None, handler_cancellation=True))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
