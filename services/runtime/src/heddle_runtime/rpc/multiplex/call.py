"""The client's end of one multiplexed call."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from google.protobuf.message import DecodeError
from heddle.multiplex.v1 import multiplex_pb2 as pb

from heddle_runtime.errors import DeadlineError, HeddleError, failed_rpc, to_rpc
from heddle_runtime.rpc.deadlines import Deadlines

WINDOW = 256 * 1024
"""The number of bytes that the server may send before the reader of a call has read them."""


class Stream(Protocol):
    """The part of a stream that its calls use."""

    def grant(self, number: int, size: int) -> None:
        """Allow the server to send `size` more bytes."""

    def drop(self, number: int, *, notify: bool) -> None:
        """Remove a call that has ended. `notify` says whether to cancel it at the server."""


class MultiplexedCall:
    """An open call: an asynchronous iterator over its responses."""

    __slots__ = (
        "_deadline",
        "_deadlines",
        "_decode",
        "_error",
        "_messages",
        "_number",
        "_open",
        "_read",
        "_stream",
        "_waiter",
    )

    def __init__(
        self,
        stream: Stream,
        number: int,
        timeout: float,
        deadlines: Deadlines,
        decode: Callable[[bytes], Any],
    ) -> None:
        self._stream = stream
        self._number = number
        self._decode = decode
        self._messages: deque[bytes] = deque()
        self._read = 0
        self._open = True
        self._error: BaseException | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._deadline = time.monotonic() + timeout
        self._deadlines = deadlines
        deadlines.add(self, self._deadline)

    def time_remaining(self) -> float:
        """Return the seconds until the deadline."""
        return max(0.0, self._deadline - time.monotonic())

    def __aiter__(self) -> "MultiplexedCall":
        return self

    async def __anext__(self) -> Any:  # noqa: ANN401 - the method's own response
        while not self._messages:
            if not self._open:
                if self._error is not None:
                    raise self._error
                raise StopAsyncIteration
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            except asyncio.CancelledError:  # the reader was cancelled and reads no more
                self.cancel()
                raise
        message = self._messages.popleft()
        self._acknowledge(len(message))
        try:
            return self._decode(message)
        except DecodeError:
            self.cancel()
            raise to_rpc(HeddleError("The service's response cannot be decoded.")) from None

    def receive(self, frame: pb.AnswerFrame) -> None:
        """Process a frame from the server."""
        if frame.HasField("message"):
            self._messages.append(frame.message)
        if frame.end:
            self._finish(failed_rpc(frame.error) if frame.HasField("error") else None, notify=False)
        self._wake()

    def fail(self, error: HeddleError) -> None:
        """End the call because its stream ended."""
        self._finish(to_rpc(error), notify=False)
        self._wake()

    def cancel(self) -> bool:
        """Cancel the call at the server. Return whether it was open."""
        was_open = self._open
        if was_open:
            self._messages.clear()
            self._finish(asyncio.CancelledError(), notify=True)  # what a cancelled gRPC call raises
            self._wake()
        return was_open

    def expire(self) -> None:
        """End the call because its deadline has passed."""
        self._finish(to_rpc(DeadlineError("The deadline of the call has passed.")), notify=True)
        self._wake()

    def _finish(self, error: BaseException | None, *, notify: bool) -> None:
        self._open = False
        self._error = error
        self._deadlines.discard(self)
        self._stream.drop(self._number, notify=notify)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _acknowledge(self, size: int) -> None:
        # Grant credit in large portions, because each grant is a frame.
        self._read += size
        if self._open and self._read >= WINDOW // 2:
            self._stream.grant(self._number, self._read)
            self._read = 0
