"""What lies between one request and its client.

It saves a system call for every answer, and a task for every request that waits for one.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

_CLOSE = (b"connection", b"close")
Headers = tuple[tuple[bytes, bytes], ...]


class Line:
    """The way from one request to its client: in `scope["state"]["line"]`.

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

    @property
    def begun(self) -> bool:
        """Whether some of the answer was sent."""
        return self._cycle.response_started

    @property
    def ended(self) -> bool:
        """Whether all of the answer was sent."""
        return self._cycle.response_complete

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

        Raises:
            ValueError: A header cannot be sent. Nothing was.
        """
        cycle = self._cycle
        if (
            cycle.response_started
            or cycle.disconnected
            or cycle.flow.write_paused
            or cycle.scope["method"] == "HEAD"
        ):
            return False
        common = _lines(tuple(cycle.default_headers)) + _lines(headers)
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
