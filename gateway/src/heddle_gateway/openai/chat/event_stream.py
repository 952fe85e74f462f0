"""Sends server-sent events to one client."""

import asyncio

from heddle_gateway.http.headers import Headers
from heddle_gateway.http.raw import RawRequest

HEADERS: Headers = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),  # otherwise nginx would buffer the events
)
KEEP_ALIVE = b": keep-alive\n\n"


class EventStream:
    """Sends frames, and a comment after a period of silence.

    The head is sent with the first frame. One timer serves the whole stream, and only a comment
    creates a task, so that a token needs neither.
    """

    __slots__ = ("_comment", "_loop", "_request", "_silence", "_timer", "_writing", "_written")

    def __init__(self, request: RawRequest, silence: float) -> None:
        self._request = request
        self._silence = silence
        self._loop = asyncio.get_running_loop()
        self._written = self._loop.time()
        self._writing = False
        self._comment: asyncio.Task[None] | None = None
        self._timer = self._loop.call_later(silence, self._when_silent)

    @property
    def started(self) -> bool:
        """Whether anything was sent."""
        return self._request.status != 0

    async def write(self, frames: bytes, *, last: bool = False) -> None:
        """Send frames. Waits while the client does not keep up."""
        if self._comment is not None:
            await self._comment
        if last:
            self._timer.cancel()
        await self._send(frames, last=last)

    def close(self) -> None:
        """Send no more comments. Frames may follow all the same."""
        self._timer.cancel()
        if self._comment is not None:
            self._comment.cancel()
            self._comment = None  # or the next write would be cancelled with it

    async def _send(self, frames: bytes, *, last: bool = False) -> None:
        self._written = self._loop.time()
        self._writing = True
        try:
            if not self.started:
                await self._request.start(200, HEADERS)
            await self._request.write(frames, last=last)
        finally:
            self._writing = False

    def _when_silent(self) -> None:
        left = self._written + self._silence - self._loop.time()
        if left <= 0:
            left = self._silence
            if not self._writing:  # else the client is slow, not the run
                self._comment = self._loop.create_task(self._send(KEEP_ALIVE))
                self._comment.add_done_callback(self._commented)
        self._timer = self._loop.call_later(left, self._when_silent)

    def _commented(self, task: "asyncio.Task[None]") -> None:
        self._comment = None
        if not task.cancelled():
            task.exception()  # the disconnect watcher handles a client that is gone
