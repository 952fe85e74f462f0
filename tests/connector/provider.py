"""A fake provider: a real HTTP server that does what a script says, down to single bytes."""

import asyncio
import contextlib
import json
import ssl
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Exchange:
    """One request and the way to answer it."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    writer: asyncio.StreamWriter
    reader: asyncio.StreamReader
    keep: bool = True

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    async def reply(self, status: int, body: bytes | str, **headers: str) -> None:
        data = body.encode() if isinstance(body, str) else body
        lines = {"content-type": "application/json", "content-length": str(len(data))}
        self._head(
            status, lines | {name.replace("_", "-"): value for name, value in headers.items()}
        )
        self.writer.write(data)
        await self.writer.drain()

    def begin(self, kind: str = "text/event-stream") -> None:
        self._head(200, {"content-type": kind, "transfer-encoding": "chunked"})

    async def send(self, data: bytes) -> None:
        self.writer.write(b"%x\r\n%s\r\n" % (len(data), data))
        await self.writer.drain()

    async def end(self) -> None:
        self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()

    async def stream(self, *pieces: bytes) -> None:
        self.begin()
        for piece in pieces:
            await self.send(piece)
            await asyncio.sleep(0.005)  # so that each piece is a read of its own
        await self.end()

    def cut(self) -> None:
        """Close the connection as if nothing were missing."""
        self.keep = False

    def reset(self) -> None:
        """Tear the connection down."""
        self.keep = False
        self.writer.transport.abort()

    async def gone(self) -> float:
        """Wait until the client has closed the connection, and return when."""
        with contextlib.suppress(ConnectionError):
            await self.reader.read()
        self.keep = False
        return time.monotonic()

    def _head(self, status: int, headers: dict[str, str]) -> None:
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self.writer.write(f"HTTP/1.1 {status} Status\r\n{lines}\r\n".encode())


Script = Callable[[Exchange], Awaitable[None]]


@dataclass
class Provider:
    """What a fake provider saw."""

    script: Script
    url: str = ""
    connections: int = 0
    exchanges: list[Exchange] = field(default_factory=list)
    tasks: set["asyncio.Task[None] | None"] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.tasks.add(asyncio.current_task())
        try:
            keep = True
            while keep:
                exchange = await _read(reader, writer)
                self.exchanges.append(exchange)
                await self.script(exchange)
                keep = exchange.keep
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass  # a connection that ends, or a test that does
        finally:
            self.tasks.discard(asyncio.current_task())
            writer.close()


@asynccontextmanager
async def provider(script: Script, tls: ssl.SSLContext | None = None) -> AsyncGenerator[Provider]:
    """Run a provider that answers every request with `script`, over HTTPS if `tls` is set."""
    running = Provider(script)
    server = await asyncio.start_server(running.serve, "127.0.0.1", 0, ssl=tls)
    scheme = "https" if tls else "http"
    running.url = f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield running
    finally:
        server.close()
        for task in running.tasks:
            if task is not None:
                task.cancel()
        await asyncio.sleep(0)


async def _read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Exchange:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip().split("\r\n")
    method, path, _ = first.split(" ")
    headers = {
        name.strip().lower(): value.strip()
        for name, _, value in (line.partition(":") for line in lines)
    }
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Exchange(method, path, headers, body, writer, reader)


def streaming(*pieces: bytes) -> Script:
    """Return a script that streams `pieces`."""

    async def script(exchange: Exchange) -> None:
        await exchange.stream(*pieces)

    return script


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
    """Return one event of a streamed completion."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
    data = {"id": "chatcmpl-1", "model": "gpt-x", "choices": [choice], **more}
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def text(piece: str) -> bytes:
    """Return one event with a piece of text."""
    return chunk({"content": piece})


STOP = chunk({}, "stop")
DONE = b"data: [DONE]\n\n"
