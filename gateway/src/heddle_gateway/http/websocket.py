"""Messages of a client on a connection that it keeps open, over the frames of `websockets`."""

import asyncio
from collections.abc import AsyncGenerator, Callable

from heddle_runtime.errors import ResourceExhaustedError
from starlette.types import Scope
from websockets.frames import CloseCode, Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import SEND_EOF, State
from websockets.server import ServerProtocol

from heddle_gateway.http.disconnect import GatewayStoppingError
from heddle_gateway.http.error_responses import ErrorResponse, RejectedRequestError
from heddle_gateway.http.raw import RawRequest

MAX_CONNECTIONS = 1_000
"""The maximum number of open connections of a gateway."""
MAX_OF_ONE_CALLER = 32
_READ_BYTES = 64 * 1024
_OVERHEAD = 1024
"""What a message counts beside its bytes while it waits."""
_CLOSE_SECONDS = 1.0
"""For the last bytes to go out."""
_DATA = (Opcode.TEXT, Opcode.BINARY, Opcode.CONT)


class WebSocket:
    """An open connection. Its messages are read one after another; others wait."""

    def __init__(self, request: RawRequest, max_bytes: int) -> None:
        """Answer the handshake of a request.

        Args:
            request: A GET request that offers WebSocket messages.
            max_bytes: The maximum size of a message, and of those that wait.

        Raises:
            RejectedRequestError: The handshake is invalid.
        """
        self.on_close: Callable[[], None] | None = None
        """Is called when the client leaves."""
        self._max_bytes = max_bytes
        self._protocol = ServerProtocol(max_size=max_bytes)
        self._protocol.receive_data(_head(request.scope))
        handshake = self._protocol.events_received()
        if not (handshake and isinstance(handshake[0], Request)):
            raise _refused("The WebSocket handshake is invalid.")
        response = self._protocol.accept(handshake[0])
        if response.status_code != 101:  # noqa: PLR2004 - Switching Protocols
            raise _refused(f"{bytes(response.body or b'').decode().strip()}")
        self._protocol.send_response(response)
        self._reader = asyncio.StreamReader()
        streams = asyncio.StreamReaderProtocol(self._reader)
        head = b"".join(self._protocol.data_to_send())
        if (transport := request.connection.take_over(streams, head)) is None:
            raise _refused("The client has sent more than the handshake.")
        request.status = response.status_code
        streams.connection_made(transport)
        loop = asyncio.get_running_loop()
        self._writer = asyncio.StreamWriter(transport, streams, self._reader, loop)
        self._parts: list[bytes] = []
        self._waiting: asyncio.Queue[bytes] = asyncio.Queue()
        self._bytes = 0
        self._ends = False

    async def messages(self, silence: float, timeout: float) -> AsyncGenerator[bytes]:  # noqa: ASYNC109 - of a silent client
        """Yield the messages until the client leaves or `finish` was called.

        Args:
            silence: Seconds without a byte of the client after which it is asked for a sign.
            timeout: Seconds without a byte after which the connection is closed.
        """
        reading = asyncio.create_task(self._read(silence, timeout))
        try:
            while not self._ends:
                message = await self._waiting.get()
                self._bytes -= len(message) + _OVERHEAD
                if not self._ends:
                    yield message
        finally:
            reading.cancel()
            await asyncio.wait({reading})

    async def send(self, text: bytes) -> None:
        """Send a message. Waits while the client does not keep up; ignores one that is gone."""
        if self._protocol.state is State.OPEN:
            self._protocol.send_text(text)
            await self._flush()

    def finish(self) -> None:
        """End `messages` after the one that is being answered."""
        self._ends = True
        self._bytes += _OVERHEAD
        self._waiting.put_nowait(b"")

    async def close(self, code: int, reason: str) -> None:
        """Close the connection, with a reason for the client."""
        self._protocol.fail(code, reason)
        await self._flush()
        self._writer.close()
        asyncio.get_running_loop().call_later(_CLOSE_SECONDS, self._writer.transport.abort)

    async def _read(self, silence: float, timeout: float) -> None:  # noqa: ASYNC109 - of a silent client
        """Store messages until the client leaves or is silent for too long."""
        silent = 0.0
        try:
            while silent < timeout and self._protocol.state is State.OPEN:
                try:
                    async with asyncio.timeout(silence):
                        data = await self._reader.read(_READ_BYTES)
                except TimeoutError:
                    silent += silence
                    self._protocol.send_ping(b"")
                else:
                    silent = 0.0
                    if not data:
                        break
                    self._receive(data)
                self._write()  # not drained: whoever does not read is silent, too
        except OSError:
            pass  # the client has left
        finally:
            if silent >= timeout:
                self._writer.transport.abort()
            if self.on_close is not None:
                self.on_close()
            self.finish()

    def _receive(self, data: bytes) -> None:
        self._protocol.receive_data(data)
        for frame in self._protocol.events_received():
            if not isinstance(frame, Frame) or frame.opcode not in _DATA:
                continue  # the protocol answers the others
            self._parts.append(bytes(frame.data))
            if frame.fin:
                message = b"".join(self._parts)
                self._parts.clear()
                if self._bytes > self._max_bytes:
                    self._protocol.fail(CloseCode.POLICY_VIOLATION, "too many messages wait")
                    return
                self._bytes += len(message) + _OVERHEAD
                self._waiting.put_nowait(message)

    def _write(self) -> None:
        for data in self._protocol.data_to_send():
            if data != SEND_EOF:
                self._writer.write(data)

    async def _flush(self) -> None:
        self._write()
        try:
            await self._writer.drain()
        except ConnectionError:
            self._protocol.receive_eof()


class WebSockets(dict[WebSocket, object]):
    """The open connections of a gateway, and their callers."""

    def check(self, caller: object, *, stopping: bool) -> None:
        """Check that a caller may open another connection.

        Raises:
            GatewayStoppingError: The gateway is being stopped.
            ResourceExhaustedError: Too many are open.
        """
        if stopping:
            raise GatewayStoppingError
        if len(self) >= MAX_CONNECTIONS:
            message = f"The gateway has {MAX_CONNECTIONS} WebSocket connections, its limit."
            raise ResourceExhaustedError(message, retry_after=1.0)
        if sum(each == caller for each in self.values()) >= MAX_OF_ONE_CALLER:
            raise ResourceExhaustedError(
                f"You have {MAX_OF_ONE_CALLER} WebSocket connections, the most that are allowed."
            )

    def finish(self) -> None:
        """End all connections, each after the message that is being answered."""
        for each in tuple(self):
            each.finish()


def _head(scope: Scope) -> bytes:
    """Return the head of a handshake, whose header `upgrade` the server has removed."""
    fields = [*scope["headers"], (b"upgrade", b"websocket")]
    lines = (b"%b: %b\r\n" % field for field in fields)
    return b"".join((b"GET / HTTP/1.1\r\n", *lines, b"\r\n"))


def _refused(message: str) -> RejectedRequestError:
    return RejectedRequestError(ErrorResponse(400, message, code="invalid_handshake"))
