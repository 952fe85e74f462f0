"""A scripted provider: a real HTTP server on a free local port."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """A request that the provider received."""

    method: str
    path: str
    headers: Mapping[str, str]
    """The headers, with names in lower case."""
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Reply:
    """A scripted response of the provider."""

    body: bytes | Callable[[ProviderRequest], bytes] = b""
    """The body, or a function that returns it for a request."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    chunk_bytes: int = 0
    """If not 0, the body is streamed in chunks of this size, each sent on its own."""
    ends: bool = True
    """If False, the response never ends: the provider waits for the client to disconnect."""


class ScriptedProvider:
    """Answers each request with the next reply, and all further ones with the last reply.

    Args:
        replies: The replies, in the order of the requests. `bytes` are the body of a success.
        paths: Replies to all requests for a path, which take none of `replies`.
    """

    def __init__(
        self, *replies: Reply | bytes, paths: Mapping[str, Reply | bytes] = MappingProxyType({})
    ) -> None:
        self.replies = [_reply(each) for each in replies]
        self.paths = {path: _reply(each) for path, each in paths.items()}
        self._sent = 0
        self.requests: list[ProviderRequest] = []
        """The requests in the order of their arrival."""
        self.responding = asyncio.Event()
        """Set when the head of a response has been sent."""
        self.disconnected = asyncio.Event()
        """Set when a client has disconnected before the end of a response."""
        self.url = ""
        """The URL while the provider runs, without a path."""

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[str]:
        """Run the provider and yield its URL."""
        connections: set[asyncio.Task[None]] = set()

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connections.add(asyncio.ensure_future(self._serve(reader, writer)))

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server:
            try:
                yield self.url
            finally:
                for connection in connections:
                    connection.cancel()
                for outcome in await asyncio.gather(*connections, return_exceptions=True):
                    if isinstance(outcome, AssertionError):
                        raise outcome

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = await _read_request(reader)
                self.requests.append(request)
                await self._send(self._next(request), request, reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has disconnected
        finally:
            writer.close()

    def _next(self, request: ProviderRequest) -> Reply:
        path, _, _ = request.path.partition("?")
        if path in self.paths:
            return self.paths[path]
        if not self.replies:
            raise AssertionError("The scripted provider has no reply.")
        self._sent += 1
        return self.replies[min(self._sent, len(self.replies)) - 1]

    async def _send(
        self,
        reply: Reply,
        request: ProviderRequest,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        headers = {"content-type": "application/json", "transfer-encoding": "chunked"}
        lines = "".join(f"{n}: {v}\r\n" for n, v in {**headers, **reply.headers}.items())
        writer.write(f"HTTP/1.1 {reply.status} Status\r\n{lines}\r\n".encode())
        body = reply.body(request) if callable(reply.body) else reply.body
        size = reply.chunk_bytes or len(body) or 1
        for start in range(0, len(body), size):
            chunk = body[start : start + size]
            writer.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
            await writer.drain()
            await asyncio.sleep(0)
        self.responding.set()
        if not reply.ends:
            with contextlib.suppress(ConnectionError):
                await reader.read()
            self.disconnected.set()
            raise ConnectionResetError
        writer.write(b"0\r\n\r\n")
        await writer.drain()


def _reply(reply: Reply | bytes) -> Reply:
    return reply if isinstance(reply, Reply) else Reply(reply)


async def _read_request(reader: asyncio.StreamReader) -> ProviderRequest:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip().split("\r\n")
    method, path, _ = first.split(" ")
    fields = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in fields}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return ProviderRequest(method, path, headers, body)
