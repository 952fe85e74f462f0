"""uvicorn's HTTP protocol with what it lacks.

That is two limits, how long and how large a head may be, or whatever else is no body, and a line to
each request's client.
"""

import asyncio
from typing import TYPE_CHECKING

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from heddle_gateway.line import Line

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

MAX_HEAD_BYTES = 64 * 1024
"""What may come at once, about, that neither ends a head nor is of a body."""
_END = b"connection: close\r\ncontent-length: 0\r\n\r\n"
_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\n" + _END
_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\n" + _END


class CarefulProtocol(HttpToolsProtocol):
    """Closes connections that begin a request and do not end it, or do not take its answer."""

    head_timeout = 15.0
    """Seconds from the first byte, or the connection, to the end of the head."""
    _in_head = False
    _moved = False
    """Whether what came last brought a request on."""
    _beside = 0
    """Bytes since then: of a head, between the pieces of a body, or behind it."""
    _head_timer: asyncio.TimerHandle | None = None
    _unsent = 0
    _unsent_timer: asyncio.TimerHandle | None = None
    _line: Line | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn types it
        """Wait for the first request, not for ever."""
        super().connection_made(transport)
        self._head_timer = self.loop.call_later(self.head_timeout, self._too_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timers, and tell the request that is being served."""
        self._stop_timer()
        self._stop_unsent_timer()
        super().connection_lost(exc)
        if self._line is not None:
            self._line.lost()

    def on_message_begin(self) -> None:
        """Begin to count the head of a request."""
        self._in_head = True
        self._moved = False
        self._beside = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Stop counting, and reading fields: those behind a body nobody has looked at before."""
        if self.parser.should_upgrade():
            return  # it is read again
        self._in_head = False
        self._moved = True
        super().on_headers_complete()
        self.headers = []

    def on_body(self, body: bytes) -> None:
        """Keep a piece of a body."""
        self._moved = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Say that a request is here."""
        if self.parser.should_upgrade():
            return
        self._moved = True
        super().on_message_complete()

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
        """Read, and judge what came if it brought no request on."""
        self._moved = False
        self._unset_keepalive_if_required()
        try:
            self._parse(data)
        except httptools.HttpParserError:
            self.send_400_response("Invalid HTTP request received.")
            return
        if self._moved:
            self._beside = 0
            self._stop_timer()
            self._wait_for_more()
            return
        self._beside += len(data)
        if self._beside > MAX_HEAD_BYTES:
            self._refuse(_TOO_LARGE)
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(self.head_timeout, self._too_slow)

    def _parse(self, data: bytes) -> None:
        """Read what came.

        Raises:
            HttpParserError: It is not HTTP.
        """
        while data:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as offer:
                data = self._head_without_offer() + data[offer.args[0] :]
            else:
                return

    def _head_without_offer(self) -> bytes:
        """Return a head to be read again, without its offer to speak another protocol.

        Clients of Java offer HTTP/2 with their requests, whose bodies the parser would skip.

        Raises:
            HttpParserError: It asks for a tunnel.
        """
        method, version = self.parser.get_method(), self.parser.get_http_version()
        if method == b"CONNECT":
            raise httptools.HttpParserError("Nothing is a tunnel here.")
        fields = [b"%b: %b\r\n" % field for field in self.headers if field[0] != b"upgrade"]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does
        start = b"%b %b HTTP/%b\r\n" % (method, self.url, version.encode())
        return b"".join((start, *fields, b"\r\n"))

    def pause_writing(self) -> None:
        """Wait until the client takes what was sent, not for ever."""
        super().pause_writing()
        self._watch_unsent()

    def resume_writing(self) -> None:
        """Go on: the client has taken nearly all."""
        self._stop_unsent_timer()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, but not in the middle of an answer."""
        if self._line is not None and self._line.begun:
            self.transport.close()
        else:
            super().send_400_response(msg)

    def _wait_for_more(self) -> None:
        """Wait for the rest of a request that was answered before it was complete, not for ever."""
        if self.cycle.response_complete and self.timeout_keep_alive_task is None:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def _watch_unsent(self) -> None:
        self._unsent = self.transport.get_write_buffer_size()
        self._unsent_timer = self.loop.call_later(self.timeout_keep_alive, self._see_unsent)

    def _see_unsent(self) -> None:
        """Cut the connection if nothing was taken meanwhile; nothing is added before all is."""
        if self.transport.get_write_buffer_size() < self._unsent:
            self._watch_unsent()
        else:
            self.transport.abort()

    def _stop_unsent_timer(self) -> None:
        if self._unsent_timer is not None:
            self._unsent_timer.cancel()
            self._unsent_timer = None

    def _too_slow(self) -> None:
        if self._line is None:
            self._refuse(_TOO_SLOW)
        else:  # the request before it is still being served
            self._head_timer = self.loop.call_later(self.head_timeout, self._too_slow)

    def _refuse(self, answer: bytes) -> None:
        self._stop_timer()
        if not self.transport.is_closing():
            if self._in_head and self._line is None:
                self.transport.write(answer)
            self.transport.close()

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


def careful(head_timeout: float) -> type[CarefulProtocol]:
    """Return the protocol with its time-out in seconds."""

    class Careful(CarefulProtocol):
        pass

    Careful.head_timeout = head_timeout
    return Careful
