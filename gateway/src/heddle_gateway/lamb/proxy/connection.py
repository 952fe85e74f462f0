"""One connection to LAMB, which serves one request at a time."""

import asyncio
from typing import cast

import httptools

from heddle_gateway.lamb.proxy.failures import CutError, GarbledError, SilentError
from heddle_gateway.lamb.proxy.hang_ups import reset

MAX_HEAD_BYTES = 128 * 1024
"""Size of a response's head, as it arrives."""
_HIGH_WATER_BYTES = 256 * 1024
"""Bytes of a response's body that wait for the client before LAMB has to wait, too."""
_FIRST_FINAL_STATUS = 200
_LAST_STATUS = 599
_SWITCHING_PROTOCOLS = 101
_CHUNKED = b"chunked"
_CLOCK_SECONDS = 0.001
"""A timer may fire this much too early."""


class LambConnection(asyncio.Protocol):
    """A connection. The attributes describe the response to the last request that was sent."""

    def __init__(self, seconds: float) -> None:
        """Prepare.

        Args:
            seconds: How long LAMB, and the client that sends a body, may be silent.
        """
        self.idle_since = 0.0
        self.reused = False
        """Whether the connection has served another request before."""
        self.received = False
        """Whether a byte of the response has arrived."""
        self.status = 0
        """The status of the response, 0 before its head is complete."""
        self.headers: list[tuple[bytes, bytes]] = []
        self._loop = asyncio.get_running_loop()
        self._seconds = seconds
        self._active_at = 0.0
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._open = False  # whether a request waits for its response
        self._method_is_head = False
        self._complete = False
        self._reusable = True
        self._framed = False  # whether the end of the body is in the response itself
        self._head_bytes = 0
        self._parts: list[bytes] = []
        self._unread = 0
        self._reading_paused = False
        self._upgraded = False
        self._failure: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._writable: asyncio.Future[None] | None = None

    @property
    def usable(self) -> bool:
        """Whether the connection can serve a request."""
        return self._transport is not None and not self._transport.is_closing()

    @property
    def clean(self) -> bool:
        """Whether the response was read to its end, and another request can follow."""
        return (
            self._complete
            and self._reusable
            and not self._parts
            and self._transport is not None
            and not self._transport.is_closing()
            and not self._transport.get_write_buffer_size()
        )

    @property
    def waits_for_body(self) -> bool:
        """Whether nothing of the response's body has arrived."""
        return not (self._parts or self._complete)

    def begin(self, message: bytes, *, method_is_head: bool) -> None:
        """Send the head of a request, or a whole request."""
        self.received = self._complete = self._framed = False
        self.status = self._head_bytes = 0
        self.headers = []
        self._failure = None
        self._method_is_head = method_is_head
        self._open = True
        self.write(message)

    def write(self, data: bytes) -> None:
        """Send a part of the request's body."""
        self._active_at = self._loop.time()
        if self._transport is not None:
            self._transport.write(data)

    def writable(self) -> "asyncio.Future[None] | None":
        """Return what waits until LAMB has read enough of what was sent; None if it has."""
        return self._writable

    def fail(self, failure: Exception) -> None:
        """End the response with a failure."""
        if self._failure is None and not self._complete:
            self._failure = failure
            self._reusable = False
        self._wake()

    async def head(self) -> None:
        """Wait for the head of the response.

        Raises:
            LambError: There is none.
            ClientGoneError: The client has disconnected.
        """
        while not self.status:
            if self._failure is not None:
                raise self._failure
            await self._change()

    async def read(self) -> tuple[bytes, bool]:
        """Return the next part of the response's body, and whether it is the last one.

        Raises:
            LambError: The response has ended before it was complete.
            ClientGoneError: The client has disconnected.
        """
        while not self._parts:
            if self._complete:
                return b"", True
            if self._failure is not None:
                raise self._failure
            await self._change()
        parts = self._parts
        body = parts[0] if len(parts) == 1 else b"".join(parts)
        self._parts, self._unread = [], 0
        if self._reading_paused and self._transport is not None:
            self._reading_paused = False
            self._transport.resume_reading()
        return body, self._complete

    def upgrade(self, protocol: asyncio.Protocol) -> tuple[asyncio.Transport, bytes]:
        """Give the transport to another protocol; return it, and what has arrived already.

        Raises:
            LambError: The connection is closed.
        """
        transport = self._transport
        if transport is None or transport.is_closing():
            raise CutError
        self._reusable = False
        transport.set_protocol(protocol)
        if self._reading_paused:
            transport.resume_reading()
        return transport, b"".join(self._parts)

    def close(self) -> None:
        """Close the connection at once."""
        if self._transport is None:
            return
        if self._open and not self._complete:
            reset(self._transport)
        else:
            self._transport.abort()

    async def _change(self) -> None:
        """Wait until something arrives, or nothing did for too long."""
        self._waiter = self._loop.create_future()
        self._active_at = self._loop.time()
        self._timer = self._loop.call_later(self._seconds, self._check_silence)
        try:
            await self._waiter
        finally:
            self._timer.cancel()
            self._waiter = None

    def _check_silence(self) -> None:
        """Fail if nothing was sent or has arrived since the last check."""
        left = self._seconds - (self._loop.time() - self._active_at)
        if left > _CLOCK_SECONDS:
            self._timer = self._loop.call_later(left, self._check_silence)
        else:
            self.fail(SilentError(self._seconds))

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # Callbacks of the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Parse bytes of LAMB."""
        self._active_at = self._loop.time()
        if self._upgraded:
            self._store(data)
            return
        if not self._open or self._complete:  # no request waits for a response
            self._reusable = False
            self.close()
            return
        self.received = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._upgraded = True
            self._store(data[upgrade.args[0] :])
        except httptools.HttpParserError as error:
            self.fail(GarbledError(str(error)))
        if not self.status:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self.fail(GarbledError(f"its head is larger than {MAX_HEAD_BYTES} bytes"))
        self._wake()

    def eof_received(self) -> None:
        """Complete a response that ends with the connection."""
        self._reusable = False
        if self._open and self.status and not self._framed and self._failure is None:
            self._complete = True
            self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the response."""
        self._transport = None
        self._reusable = False
        self.resume_writing()
        if not self._complete:
            self.fail(CutError(f"the connection was closed: {exc}" if exc else "it was closed"))

    def pause_writing(self) -> None:
        """Make those who send wait."""
        self._writable = self._loop.create_future()

    def resume_writing(self) -> None:
        """Let those who send continue."""
        if self._writable is not None:
            if not self._writable.done():
                self._writable.set_result(None)
            self._writable = None

    # Callbacks of the parser.

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store a header. Trailers are ignored."""
        if not self.status:
            self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Store the status, unless the response is an interim one."""
        status = self._parser.get_status_code()
        if status < _FIRST_FINAL_STATUS and status != _SWITCHING_PROTOCOLS:
            self.headers = []
            return
        if self.status or status > _LAST_STATUS:
            self._reusable = False
            self.fail(GarbledError(f"the status {status} is not expected"))
            return
        codings = [value for name, value in self.headers if name == b"transfer-encoding"]
        if codings and [each.lower() for each in codings] != [_CHUNKED]:
            self.fail(GarbledError("its transfer coding is not supported"))
            return
        self._framed = bool(codings) or any(name == b"content-length" for name, _ in self.headers)
        self.status = status
        if self._method_is_head:
            self._complete = True
            self._reusable = False  # the parser expects a body

    def on_body(self, body: bytes) -> None:
        """Store a part of the body."""
        if not self._complete:
            self._store(body)

    def on_message_complete(self) -> None:
        """Complete the response, unless it is an interim one."""
        if self.status and self.status != _SWITCHING_PROTOCOLS:
            self._reusable = self._reusable and bool(self._parser.should_keep_alive())
            self._complete = True

    def _store(self, body: bytes) -> None:
        if not body:
            return
        self._parts.append(body)
        self._unread += len(body)
        if self._unread > _HIGH_WATER_BYTES and not self._reading_paused:
            self._reading_paused = True
            if self._transport is not None:
                self._transport.pause_reading()
