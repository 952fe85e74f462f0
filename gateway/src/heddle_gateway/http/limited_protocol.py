"""uvicorn's HTTP protocol with the limits that it lacks.

A client could hold connections and memory without end:

- how long and how large a request's head may be (408 and 431), and what follows a body,
- how long a client may leave a response unread,
- how long the unread rest of a request may take after its response.

This module and `connection` are the only ones that use the internals of uvicorn, whose version is
pinned for them.
"""

import asyncio
from functools import partial

import httptools
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from heddle_gateway.http.connection import Connection

MAX_HEAD_BYTES = 64 * 1024
"""Approximate limit for bytes that neither complete a head nor belong to a body."""
_END = b"connection: close\r\ncontent-length: 0\r\n\r\n"
_REQUEST_TIMEOUT = b"HTTP/1.1 408 Request Timeout\r\n" + _END
_HEAD_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\n" + _END


class LimitedProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol with limits for slow and large requests and for unread responses."""

    head_timeout = 15.0
    """Seconds from the first byte, or from the connection, to the end of the head."""
    _in_head = False
    _progressed = False
    """Whether the last bytes completed a head or belonged to a body."""
    _idle_bytes = 0
    """Bytes since then: of a head, between the parts of a body, or after it."""
    _head_timer: asyncio.TimerHandle | None = None
    _unsent = 0
    _unsent_timer: asyncio.TimerHandle | None = None
    _connection: Connection | None = None
    _offers_websocket = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn types it
        """Start the timeout of the first request."""
        super().connection_made(transport)
        self._head_timer = self.loop.call_later(self.head_timeout, self._reject_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers and inform the request that is being served."""
        self._stop_head_timer()
        self._stop_unsent_timer()
        super().connection_lost(exc)
        if self._connection is not None:
            self._connection.lost()

    def on_message_begin(self) -> None:
        """Start counting the head of a request."""
        self._in_head = True
        self._progressed = False
        self._idle_bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Stop counting. Trailer fields after the body are ignored."""
        if self.parser.should_upgrade():
            return  # the head is parsed again
        self._in_head = False
        self._progressed = True
        if not self.url.startswith(b"/"):
            self.scope["state"]["target"] = self.url
        if self._offers_websocket:
            self._offers_websocket = False
            self.scope["state"]["upgrade"] = True
        super().on_headers_complete()
        self.headers = []

    def on_body(self, body: bytes) -> None:
        """Store a part of a body."""
        self._progressed = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Report a complete request."""
        if self.parser.should_upgrade():
            return
        self._progressed = True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Send a head that no body followed."""
        if self._connection is not None:
            self._connection.flush()
            self._connection = None
        super().on_response_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._connection = Connection(cycle, partial(self._leave, cycle))
        cycle.transport = self._connection  # type: ignore[assignment] # has all that the cycle uses
        cycle.scope["state"]["connection"] = self._connection
        super()._start_asgi_task(cycle, app)

    def data_received(self, data: bytes) -> None:
        """Parse bytes, and limit those that make no progress."""
        self._progressed = False
        self._unset_keepalive_if_required()
        try:
            self._parse(data)
        except httptools.HttpParserError:
            self.send_400_response("Invalid HTTP request received.")
            return
        if self._progressed:
            self._idle_bytes = 0
            self._stop_head_timer()
            self._start_keep_alive()
            return
        self._idle_bytes += len(data)
        if self._idle_bytes > MAX_HEAD_BYTES:
            self._reject(_HEAD_TOO_LARGE)
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(self.head_timeout, self._reject_slow)

    def _parse(self, data: bytes) -> None:
        """Parse bytes.

        Raises:
            HttpParserError: They are not HTTP.
        """
        while data:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                data = self._head_without_upgrade() + data[upgrade.args[0] :]
            else:
                return

    def _head_without_upgrade(self) -> bytes:
        """Return a head without its upgrade header, to be parsed again.

        `scope["state"]["upgrade"]` remains of an offer of WebSocket messages. Java's HTTP client
        offers HTTP/2 with its requests. The parser would skip their bodies.

        Raises:
            HttpParserError: The request is CONNECT.
        """
        method, version = self.parser.get_method(), self.parser.get_http_version()
        if method == b"CONNECT":
            raise httptools.HttpParserError("CONNECT is not supported.")
        offers = [value.lower() for name, value in self.headers if name == b"upgrade"]
        self._offers_websocket = offers == [b"websocket"] and _has_no_body(self.headers, method)
        fields = [b"%b: %b\r\n" % field for field in self.headers if field[0] != b"upgrade"]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does
        start = b"%b %b HTTP/%b\r\n" % (method, self.url, version.encode())
        return b"".join((start, *fields, b"\r\n"))

    def _leave(self, cycle: RequestResponseCycle) -> bool:
        """Stop everything that concerns the connection, which another protocol gets.

        Return False, and do nothing, if bytes have arrived after the request.
        """
        if self.cycle is not cycle or self._in_head or self._idle_bytes or self.pipeline:
            return False
        self._stop_head_timer()
        self._stop_unsent_timer()
        self._unset_keepalive_if_required()
        self.connections.discard(self)
        self._connection = None
        self.flow.resume_reading()
        return True

    def pause_writing(self) -> None:
        """Start the timeout for a client that does not read its response."""
        super().pause_writing()
        self._watch_unsent()

    def resume_writing(self) -> None:
        """Stop that timeout: the client has read nearly everything."""
        self._stop_unsent_timer()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Reject bytes that are not HTTP, unless a response is being sent."""
        if self._connection is not None and self._connection.response_started:
            self.transport.close()
        else:
            super().send_400_response(msg)

    def _start_keep_alive(self) -> None:
        """Limit the time for the rest of a request that was answered before it was complete."""
        if self.cycle.response_complete and self.timeout_keep_alive_task is None:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def _watch_unsent(self) -> None:
        self._unsent = self.transport.get_write_buffer_size()
        self._unsent_timer = self.loop.call_later(self.timeout_keep_alive, self._check_unsent)

    def _check_unsent(self) -> None:
        """Abort the connection if the client has read nothing since the last check."""
        if self.transport.get_write_buffer_size() < self._unsent:
            self._watch_unsent()
        else:
            self.transport.abort()

    def _stop_unsent_timer(self) -> None:
        if self._unsent_timer is not None:
            self._unsent_timer.cancel()
            self._unsent_timer = None

    def _reject_slow(self) -> None:
        if self._connection is None:
            self._reject(_REQUEST_TIMEOUT)
        else:  # the previous request of the connection is still being served
            self._head_timer = self.loop.call_later(self.head_timeout, self._reject_slow)

    def _reject(self, response: bytes) -> None:
        self._stop_head_timer()
        if not self.transport.is_closing():
            if self._in_head and self._connection is None:
                self.transport.write(response)
            self.transport.close()

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


def limited_protocol(head_timeout: float) -> type[LimitedProtocol]:
    """Return the protocol class with a head timeout in seconds."""
    return type("Limited", (LimitedProtocol,), {"head_timeout": head_timeout})


def _has_no_body(headers: list[tuple[bytes, bytes]], method: bytes) -> bool:
    """Return whether a request is a GET without a body, as a WebSocket requires."""
    names = {name for name, _ in headers}
    return method == b"GET" and names.isdisjoint((b"content-length", b"transfer-encoding"))
