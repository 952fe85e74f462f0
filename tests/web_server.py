"""Serves HTTP while a test runs."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
_TURNS = 5
"""Of the event loop, which completes a connection within three after it has accepted it."""


@asynccontextmanager
async def web_server(
    answers: web.Application | Handler, host: str = "127.0.0.1", port: int = 0
) -> AsyncGenerator[str]:
    """Serve an application, or what answers every request; by default on a free port.

    Yields:
        The address, without a slash at the end.
    """
    runner: web.BaseRunner
    if isinstance(answers, web.Application):
        runner = web.AppRunner(
            answers, access_log=None, handler_cancellation=True, shutdown_timeout=0.1
        )
    else:
        server = web.Server(answers, access_log=None, handler_cancellation=True)
        runner = web.ServerRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    listening = socket.create_server((host, port))
    await web.SockSite(runner, listening).start()
    try:
        yield f"http://{host}:{listening.getsockname()[1]}"
    finally:
        # Python 3.11 leaves a connection open that it has accepted before the server is closed, and
        # not completed; aiohttp likewise.
        asyncio.get_running_loop().remove_reader(listening)
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        await runner.cleanup()
