"""uvicorn's HTTP protocol with what it lacks.

That is two limits, how long and how large a head may be, and a line to each request's client that
saves a system call for every answer and a task for every request that waits for one.
"""

import asyncio
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

MAX_HEAD_BYTES = 64 * 1024
_END = b"connection: close\r\ncontent-length: 0\r\n\r\n"
_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\n" + _END
_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\n" + _END
_CLOSE = (b"connection", b"close")
Headers = tuple[tuple[bytes, bytes], ...]


class Line:
    """What lies between one request and its client: in `scope["state"]["line"]`.

    Stands where uvicorn expects the transport, until the answer has begun: its head is held back
    for whatever follows, and both go out together.
    """

    __slots__ = ("_cycle", "_head", "_transport", "_when_gone")

    def __init__(self, cycle: "RequestResponseCycle") -> None:
        self._cycle = cycle
        self._transport = cycle.transport
        self._head = b""
        self._when_gone: Callable[[], None] | None = None

    @property
    def arrived(self) -> bool:
        """Whether the whole request is here, and its client too."""
        return not (self._cycle.more_body or self._cycle.disconnected)

    def take(self) -> bytes:
        """Return the body of a request that has arrived. What uvicorn's `receive` would return."""
        cycle = self._cycle
        cycle.flow.resume_reading()
        body, cycle.body = cycle.body, bytearray()
        cycle.message_event.clear()
        return bytes(body)

    def reply(self, status: int, headers: Headers, more: bytes, body: bytes) -> bool:
        """Send a whole answer in one piece, and return whether that was possible.

        If not, as for a client that has not read its last answer, it goes through uvicorn's `send`.

        Args:
            status: The status.
            headers: Headers that many answers have in common.
            more: The other headers, each with its line end; one is the length of the body.
            body: The body.
        """
        cycle = self._cycle
        if (
            cycle.response_started
            or cycle.disconnected
            or cycle.flow.write_paused
            or cycle.scope["method"] == "HEAD"
        ):
            return False
        cycle.transport = self._transport
        cycle.response_started = cycle.response_complete = True
        common = _lines(tuple(cycle.default_headers))
        closes = not cycle.keep_alive or _CLOSE in headers
        if closes and _CLOSE not in headers:
            more += b"connection: close\r\n"
        self._transport.write(
            b"%b%b%b%b\r\n%b" % (STATUS_LINE[status], common, _lines(headers), more, body)
        )
        cycle.message_event.set()
        if closes:
            self._transport.close()
        cycle.on_response()
        return True

    def watch(self, when_gone: Callable[[], None]) -> None:
        """Call `when_gone` if the client closes the connection."""
        self._when_gone = when_gone
        self._cycle.flow.resume_reading()  # or a close behind unread bytes would not be seen

    def release(self) -> None:
        """Watch no more."""
        self._when_gone = None

    def lost(self) -> None:
        """Say that the connection is closed. Called by the protocol."""
        if not self._cycle.response_complete:
            self._cycle.disconnected = True  # uvicorn tells only the request that came last
            self._cycle.message_event.set()
        if self._when_gone is not None:
            self._when_gone()

    def write(self, data: bytes) -> None:
        """Send what uvicorn writes, the head with what follows it."""
        if self._head:
            self._cycle.transport = self._transport
            self._transport.write(self._head + data)
            self._head = b""
        elif self._cycle.response_started:
            self._head = data
        else:  # leave to send the body
            self._transport.write(data)

    def flush(self) -> None:
        """Send a head that nothing follows."""
        if self._head:
            self.write(b"")

    def close(self) -> None:
        """Close the connection when all is sent."""
        self.flush()
        self._transport.close()

    def is_closing(self) -> bool:
        """Return whether the connection is closed, or about to be."""
        return self._transport.is_closing()


class CarefulProtocol(HttpToolsProtocol):
    """Closes connections that begin a request and do not come to its body."""

    head_timeout = 15.0
    """Seconds from the first byte, or the connection, to the end of the head."""
    _in_head = True
    _head_bytes = 0
    _head_timer: asyncio.TimerHandle | None = None
    _line: Line | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn types it
        """Wait for the first request, not for ever."""
        super().connection_made(transport)
        self._head_timer = self.loop.call_later(self.head_timeout, self._too_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer, and tell the request that is being served."""
        self._stop_timer()
        super().connection_lost(exc)
        if self._line is not None:
            self._line.lost()

    def on_message_begin(self) -> None:
        """Begin to count the head of a request."""
        self._in_head = True
        self._head_bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Stop counting."""
        self._in_head = False
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Let go of a head that no body followed."""
        if self._line is not None:
            self._line.flush()
            self._line = None
        super().on_response_complete()

    def _start_asgi_task(self, cycle: "RequestResponseCycle", app: "ASGI3Application") -> None:
        self._line = Line(cycle)
        cycle.transport = self._line  # type: ignore[assignment] # has all that the cycle uses
        cycle.scope["state"]["line"] = self._line
        super()._start_asgi_task(cycle, app)

    def data_received(self, data: bytes) -> None:
        """Read, and judge the head if it is not complete by then."""
        super().data_received(data)
        if not self._in_head:
            if self._head_timer is not None:
                self._stop_timer()
            return
        self._head_bytes += len(data)
        if self._head_bytes > MAX_HEAD_BYTES:
            self._refuse(_TOO_LARGE)
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(self.head_timeout, self._too_slow)

    def _too_slow(self) -> None:
        self._refuse(_TOO_SLOW if self._head_bytes else b"")

    def _refuse(self, answer: bytes) -> None:
        self._stop_timer()
        if not self.transport.is_closing():
            self.transport.write(answer)
            self.transport.close()

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


@lru_cache(maxsize=256)
def _lines(headers: Headers) -> bytes:
    """Return headers as they go over the wire.

    Raises:
        ValueError: One would be read as several.
    """
    for name, value in headers:
        if not (name + value).translate(None, b"\r\n\0") == name + value:
            raise ValueError(f"The header {name!r} cannot be sent.")
    return b"".join([b"%b: %b\r\n" % header for header in headers])


def careful(head_timeout: float) -> type[CarefulProtocol]:
    """Return the protocol with its time-out in seconds."""

    class Careful(CarefulProtocol):
        pass

    Careful.head_timeout = head_timeout
    return Careful
