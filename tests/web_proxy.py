"""A forward proxy while a test runs: it connects tunnels, and forwards requests for `http://`."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass
class WebProxy:
    """What a proxy saw. It finds every server at 127.0.0.1."""

    status: bytes = b"200 Connection established"
    url: str = ""
    requests: list[str] = field(default_factory=list)
    """The method and the target of each request."""
    credentials: list[str] = field(default_factory=list)
    tasks: set["asyncio.Task[None]"] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._relay(reader, writer)
        finally:
            self.tasks.discard(task)
            writer.close()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ")
        self.requests.append(f"{method} {target}")
        self.credentials += [line.partition(": ")[2] for line in lines if "roxy-auth" in line]
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 " + self.status + b"\r\n\r\n")
            if not self.status.startswith(b"200"):
                return
            port, request = int(target.rpartition(":")[2]), b""
        else:
            parts = urlsplit(target)
            assert parts.scheme == "http"
            port = parts.port or 80
            path = target.removeprefix(f"http://{parts.netloc}")
            request = head.replace(target.encode(), path.encode(), 1)
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        far_writer.write(request)
        try:
            await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))
        finally:
            far_writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()


@asynccontextmanager
async def web_proxy(status: bytes = b"200 Connection established") -> AsyncGenerator[WebProxy]:
    """Run a proxy on a free port, which answers CONNECT with `status`."""
    running = WebProxy(status)
    server = await asyncio.start_server(running.serve, "127.0.0.1", 0)
    running.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield running
    finally:
        server.close()
        for task in running.tasks:
            task.cancel()
        await asyncio.sleep(0)
