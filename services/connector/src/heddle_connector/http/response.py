"""A provider's response while it arrives."""

import asyncio
import time
from collections.abc import Mapping
from typing import Protocol, Self

from heddle_runtime.errors import HeddleError, UnavailableError
from heddle_runtime.rpc.deadlines import Deadlines

from heddle_connector.http import errors
from heddle_connector.http.errors import NoResponseError

MAX_BODY_BYTES = 16 * 1024 * 1024
"""Size of a body that is read at once."""
MAX_ERROR_BODY_BYTES = 64 * 1024
"""Bytes that are read of the body of a response with an error status."""
SUCCESSES = range(200, 300)
_BUFFER_BYTES = 256 * 1024  # of a stream, before the connection stops reading
_DRAIN_SECONDS = 0.2
_FRAMING_HEADERS = (b"content-length", b"transfer-encoding")


class ConnectionControl(Protocol):
    """The connection as a response uses it."""

    loop: asyncio.AbstractEventLoop
    deadlines: Deadlines

    def close(self) -> None:
        """Close the connection at once."""

    def pause(self) -> None:
        """Stop reading."""

    def resume(self) -> None:
        """Read again."""


class Response:
    """A response, and the buffer for the part of its body that its reader has not read.

    Iterating yields the body; each piece is everything that has arrived.

    Args:
        connection: Serves this response until the response is finished.
        seconds: The time limit.
        stall_seconds: The time limit between two parts of the body.
        buffered: The reader waits for the complete body, so parts of it need not wake the reader.
    """

    __slots__ = (
        "_buffer",
        "_buffer_limit",
        "_buffered",
        "_connection",
        "_deadlines",
        "_end",
        "_error",
        "_header_fields",
        "_loop",
        "_paused",
        "_stall_seconds",
        "_waiter",
        "finished",
        "status",
    )

    def __init__(
        self,
        connection: ConnectionControl,
        seconds: float,
        stall_seconds: float,
        *,
        buffered: bool,
    ) -> None:
        self._connection: ConnectionControl | None = connection
        self._loop = connection.loop
        self._buffered = buffered
        self._buffer_limit = MAX_BODY_BYTES if buffered else _BUFFER_BYTES
        self._buffer = bytearray()  # joins tiny chunks at no cost in memory
        self._header_fields: list[tuple[bytes, bytes]] = []
        self._error: HeddleError | None = None
        self._paused = False
        self._waiter: asyncio.Future[None] | None = None
        self._deadlines = connection.deadlines
        self._end = time.monotonic() + seconds
        self._stall_seconds = stall_seconds
        self._deadlines.add(self, self._end)
        self.status = 0
        """The HTTP status. 0 until the head has arrived."""
        self.finished = False
        """Nothing more will arrive: the response is complete, or failed."""

    # Methods for the reader.

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, with names in lower case."""
        return {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in self._header_fields
        }

    async def wait_for_head(self) -> None:
        """Wait for the head of the response; for the whole response if it is `buffered`."""
        while not (self.finished or self._is_full() or (self.status and not self._buffered)):
            await self._wait()
        if not self.status and self._error is not None:
            raise self._error

    def complete_body(self) -> bytes | None:
        """Return the whole body if all of it has arrived, else None."""
        complete = self.finished and self._error is None and not self._is_full()
        return self._take_buffer() if complete else None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        while not (self.finished or (self._buffer and not self._buffered) or self._is_full()):
            await self._wait()
        if self._buffer:
            return self._take_buffer()
        if self._error is not None:
            raise self._error
        raise StopAsyncIteration

    async def drain(self) -> None:
        """Read what follows the end mark, so that the connection can serve the next request.

        That is the end of the HTTP body, which arrives within microseconds. A provider that does
        not send it within 0.2 s loses the connection.
        """
        if self.finished:
            return
        timer = asyncio.get_running_loop().call_later(_DRAIN_SECONDS, self.close)
        try:
            while not self.finished:
                self._take_buffer()
                await self._wait()
        finally:
            timer.cancel()

    def close(self) -> None:
        """Close the connection unless the response is finished."""
        if not self.finished:
            self.fail(errors.connection_lost())
            self.wake()

    def _wait(self) -> "asyncio.Future[None]":
        self._waiter = self._loop.create_future()
        return self._waiter

    def _take_buffer(self) -> bytes:
        data = bytes(self._buffer)
        self._buffer.clear()
        if self._paused and self._connection is not None:
            self._paused = False
            self._connection.resume()
        return data

    def _is_full(self) -> bool:
        return len(self._buffer) > self._buffer_limit

    # Methods for the connection.

    def set_status(self, status: int) -> None:
        """Store the status of the head that has arrived."""
        self.status = status
        if status not in SUCCESSES:
            self._buffer_limit = MAX_ERROR_BODY_BYTES

    def discard_headers(self) -> None:
        """Remove the headers of an interim (1xx) response."""
        self._header_fields.clear()

    def add_header(self, name: bytes, value: bytes) -> None:
        """Store a header or a trailer."""
        self._header_fields.append((name, value))

    def add_body(self, data: bytes) -> None:
        """Store a part of the body."""
        self._buffer += data
        if self._buffered:
            stall = time.monotonic() + self._stall_seconds
            self._deadlines.add(self, min(stall, self._end))

    def complete(self) -> None:
        """Mark the response as complete."""
        self.finished = True
        self._deadlines.discard(self)
        self._connection = None

    def fail(self, error: HeddleError) -> None:
        """Finish with `error` and close the connection at once."""
        if self.finished:
            return
        connection = self._connection
        self._error = error
        self.complete()
        if connection is not None:
            connection.close()

    def connection_lost(self, error: Exception | None, *, received: bool, reused: bool) -> None:
        """Finish because the connection closed.

        Args:
            error: The reason; None if the provider closed the connection in good order.
            received: At least one byte of the response had arrived.
            reused: The connection had served earlier requests.
        """
        if self.status and error is None and not self._has_framing():
            self.complete()  # the end of the connection is the end of the body
        elif self.status:
            self.fail(errors.malformed_response() if error is None else errors.connection_lost())
        else:
            cause = error or ConnectionError() if received else NoResponseError(reused=reused)
            unavailable = UnavailableError("The provider cannot be reached. Try again later.")
            unavailable.__cause__ = cause
            self.fail(unavailable)

    def wake(self) -> None:
        """Resume the reader if there is something to read."""
        if self._is_full() and not self._paused and self._connection is not None:
            self._paused = True
            self._connection.pause()
        elif self._buffered and not self.finished:
            return
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def expire(self) -> None:
        """Finish because the time limit has passed."""
        self.fail(errors.timed_out() if time.monotonic() >= self._end else errors.stalled())
        self.wake()

    def _has_framing(self) -> bool:
        return any(name.lower() in _FRAMING_HEADERS for name, _ in self._header_fields)
