"""A server that notes requests exactly as a strict parser reads them, and answers all alike."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import h11


@dataclass(frozen=True)
class Recorded:
    """A request."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


@dataclass
class Recorder:
    """What has arrived."""

    url: str = ""
    requests: list[Recorded] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """What the parser has not understood."""
    connections: list[asyncio.StreamWriter] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Note the requests of a connection."""
        self.connections.append(writer)
        connection = h11.Connection(h11.SERVER)
        head: h11.Request | None = None
        body = b""
        with suppress(ConnectionError):
            while True:
                try:
                    event = connection.next_event()
                except h11.RemoteProtocolError as error:
                    self.problems.append(str(error))
                    break
                if event is h11.NEED_DATA:
                    connection.receive_data(await reader.read(1 << 16))
                elif isinstance(event, h11.Request):
                    head, body = event, b""
                elif isinstance(event, h11.Data):
                    body += event.data
                elif isinstance(event, h11.EndOfMessage) and head is not None:
                    self.requests.append(_recorded(head, body))
                    answer = h11.Response(status_code=200, headers=[("content-length", "2")])
                    for each in (answer, h11.Data(data=b"ok"), h11.EndOfMessage()):
                        writer.write(connection.send(each) or b"")
                    if connection.our_state is h11.MUST_CLOSE:
                        break
                    connection.start_next_cycle()
                else:
                    break
        writer.close()


def _recorded(head: h11.Request, body: bytes) -> Recorded:
    headers = tuple(
        (name.decode("latin-1"), value.decode("latin-1")) for name, value in head.headers
    )
    return Recorded(head.method.decode(), head.target.decode("latin-1"), headers, body)


@asynccontextmanager
async def recorder(port: int = 0) -> AsyncGenerator[Recorder]:
    """Yield a running server, on a free port by default."""
    running = Recorder()
    server = await asyncio.start_server(running.serve, "127.0.0.1", port)
    host, port = server.sockets[0].getsockname()
    running.url = f"http://{host}:{port}"
    async with server:
        yield running
    for connection in running.connections:
        connection.close()
