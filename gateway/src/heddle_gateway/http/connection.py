"""The connection of one request, over uvicorn's record of the request.

It sends the head of a response together with its body, in one system call, and reports a disconnect
without a task that waits for it. It can give the connection to another protocol, for WebSocket
messages.
"""

import asyncio
from collections.abc import Callable
from functools import lru_cache

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from heddle_gateway.http.headers import Headers, check_headers

_CLOSE = (b"connection", b"close")


class Connection:
    """The connection of one request, in `scope["state"]["connection"]`.

    uvicorn uses it as its transport until the response has begun. The head of the response is
    held back until the first part of the body, and both are sent together.
    """

    __slots__ = ("_cycle", "_head", "_leave", "_on_disconnect", "_transport")

    def __init__(self, cycle: RequestResponseCycle, leave: Callable[[], bool]) -> None:
        """Set up the connection of one request.

        Args:
            cycle: uvicorn's record of the request and its response.
            leave: Ends HTTP on the connection. It returns False, and does nothing, if bytes have
                arrived after the request.
        """
        self._cycle = cycle
        self._leave = leave
        self._transport = cycle.transport
        self._head = b""
        self._on_disconnect: Callable[[], None] | None = None

    @property
    def request_complete(self) -> bool:
        """Whether the whole request has arrived and the client is connected."""
        return not (self._cycle.more_body or self._cycle.disconnected)

    @property
    def response_started(self) -> bool:
        """Whether a part of the response was sent."""
        return self._cycle.response_started

    @property
    def response_complete(self) -> bool:
        """Whether the whole response was sent."""
        return self._cycle.response_complete

    def take_body(self) -> bytes:
        """Return the body of a complete request, as uvicorn's `receive` does."""
        cycle = self._cycle
        cycle.flow.resume_reading()
        body, cycle.body = cycle.body, bytearray()
        cycle.message_event.clear()
        return bytes(body)

    def respond(self, status: int, headers: Headers, more: bytes, body: bytes) -> bool:
        """Send a whole response in one system call, and return whether that was possible.

        Otherwise, for example if the client has not read its previous response, the caller uses
        uvicorn's `send`.

        Args:
            status: The status.
            headers: Headers that many responses share.
            more: The other headers, each with its line end, including the content length.
            body: The body.

        Raises:
            ValueError: A header contains a line break. Nothing was sent.
        """
        cycle = self._cycle
        if (
            cycle.response_started
            or cycle.disconnected
            or cycle.flow.write_paused
            or cycle.scope["method"] == "HEAD"
        ):
            return False
        common = _encoded(tuple(cycle.default_headers)) + _encoded(headers)
        closes = not cycle.keep_alive or _CLOSE in headers
        if closes and _CLOSE not in headers:
            more += b"connection: close\r\n"
        cycle.transport = self._transport
        cycle.response_started = cycle.response_complete = True
        self._transport.write(b"%b%b%b\r\n%b" % (STATUS_LINE[status], common, more, body))
        cycle.message_event.set()
        if closes:
            self._transport.close()
        cycle.on_response()
        return True

    def omit_default_headers(self) -> None:
        """Send a response without uvicorn's headers: it has its own `Date`."""
        self._cycle.default_headers = []

    def abort(self) -> None:
        """Close the connection without the rest of the response."""
        self._cycle.response_complete = True
        self._cycle.message_event.set()
        self.close()

    def take_over(self, protocol: asyncio.Protocol, head: bytes) -> asyncio.Transport | None:
        """Send the head of the response, and give the transport to another protocol.

        Return None, and do nothing, if the client has sent more than this request or has left.
        """
        if self._transport.is_closing() or not self._leave():
            return None
        self._cycle.response_started = self._cycle.response_complete = True
        self._transport.set_protocol(protocol)
        self._transport.write(head)
        return self._transport

    def watch(self, on_disconnect: Callable[[], None]) -> None:
        """Call `on_disconnect` if the client closes the connection."""
        self._on_disconnect = on_disconnect
        self._cycle.flow.resume_reading()  # a close behind unread bytes would not be noticed

    def release(self) -> None:
        """Stop watching."""
        self._on_disconnect = None

    def lost(self) -> None:
        """Record that the connection is closed. The protocol calls this."""
        if not self._cycle.response_complete:
            self._cycle.disconnected = True  # uvicorn informs only the newest request
            self._cycle.message_event.set()
        if self._on_disconnect is not None:
            self._on_disconnect()

    def write(self, data: bytes) -> None:
        """Send what uvicorn writes; hold back a head until the next part."""
        if self._head:
            self._cycle.transport = self._transport
            self._transport.write(self._head + data)
            self._head = b""
        elif self._cycle.response_started:
            self._head = data
        else:  # 100 Continue
            self._transport.write(data)

    def flush(self) -> None:
        """Send a head that has no body."""
        if self._head:
            self.write(b"")

    def close(self) -> None:
        """Close the connection after everything is sent."""
        self.flush()
        self._transport.close()

    def is_closing(self) -> bool:
        """Return whether the connection is closed or closing."""
        return self._transport.is_closing()


@lru_cache(maxsize=256)
def _encoded(headers: Headers) -> bytes:
    """Return headers in their form on the wire.

    Raises:
        ValueError: A header contains a line break or NUL.
    """
    check_headers(headers)
    return b"".join([b"%b: %b\r\n" % header for header in headers])
