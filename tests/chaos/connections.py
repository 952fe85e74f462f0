"""Connections between processes that can be cut: a proxy before each service."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

_CHUNK = 64 * 1024


@dataclass
class Connections:
    """The open connections to services, which pass through this process."""

    addresses: dict[str, str] = field(default_factory=dict)
    """By service, the address of its proxy."""
    _open: dict[str, set[asyncio.StreamWriter]] = field(default_factory=dict)

    def count(self) -> int:
        """Return the number of open connections, each with two ends."""
        return sum(len(writers) for writers in self._open.values()) // 2

    def cut(self) -> int:
        """Reset all connections, and return their number."""
        writers = [writer for each in self._open.values() for writer in each]
        for writer in writers:
            writer.transport.abort()
        return len(writers)

    async def listen(self, service: str, host: str, port: int) -> asyncio.Server:
        """Accept connections for a service, and note where."""
        writers = self._open.setdefault(service, set())

        async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.suppress(OSError):
                upstream_reader, upstream = await asyncio.open_connection(host, port)
                writers.update((writer, upstream))
                await asyncio.gather(_copy(reader, upstream), _copy(upstream_reader, writer))
                writers.difference_update((writer, upstream))
                upstream.close()
            writer.close()

        server = await asyncio.start_server(forward, "127.0.0.1", 0)
        self.addresses[service] = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        return server


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
    # A connection that ends at one side ends at the other.
    writer.close()


@asynccontextmanager
async def connections(services: Mapping[str, tuple[str, int]]) -> AsyncIterator[Connections]:
    """Run a proxy before each of `services`, which are named with their host and port."""
    proxies = Connections()
    servers = [await proxies.listen(name, *address) for name, address in services.items()]
    try:
        yield proxies
    finally:
        proxies.cut()
        for server in servers:
            server.close()
