"""One call through a pipe, seen from the client."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from google.protobuf.message import DecodeError
from heddle.multiplex.v1 import multiplex_pb2 as pb

from heddle_runtime.deadlines import Deadlines
from heddle_runtime.errors import DeadlineError, HeddleError, failed_rpc, to_rpc

WINDOW = 256 * 1024
"""Bytes of messages that may wait for the reader of one call."""


class Pipe(Protocol):
    """What a call needs of the pipe that it goes through."""

    def grant(self, number: int, size: int) -> None:
        """Tell the server that there is room for `size` more bytes."""

    def drop(self, number: int, *, told: bool) -> None:
        """Forget a call that is over; tell the server unless it knows."""


class MultiplexedCall:
    """A call that was opened: an asynchronous iterator over its responses."""

    __slots__ = (
        "_deadline",
        "_deadlines",
        "_decode",
        "_error",
        "_messages",
        "_number",
        "_open",
        "_pipe",
        "_read",
        "_waiter",
    )

    def __init__(
        self,
        pipe: Pipe,
        number: int,
        timeout: float,
        deadlines: Deadlines,
        decode: Callable[[bytes], Any],
    ) -> None:
        self._pipe = pipe
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
        """Return the seconds that are left."""
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
            except asyncio.CancelledError:  # its reader's, who will not come back
                self.cancel()
                raise
        message = self._messages.popleft()
        self._acknowledge(len(message))
        try:
            return self._decode(message)
        except DecodeError:
            self.cancel()
            raise to_rpc(HeddleError("The service's answer cannot be decoded.")) from None

    def receive(self, frame: pb.AnswerFrame) -> None:
        """Take what the server says about this call."""
        if frame.HasField("message"):
            self._messages.append(frame.message)
        if frame.end:
            self._finish(failed_rpc(frame.error) if frame.HasField("error") else None, told=True)
        self._wake()

    def fail(self, error: HeddleError) -> None:
        """End the call, because its pipe ended."""
        self._finish(to_rpc(error), told=True)
        self._wake()

    def cancel(self) -> bool:
        """Tell the server that nobody waits any more. Return whether anybody had."""
        was_open = self._open
        if was_open:
            self._messages.clear()
            self._finish(asyncio.CancelledError(), told=False)  # as a call of grpc's own says it
            self._wake()
        return was_open

    def expire(self) -> None:
        """End the call, as its time is up."""
        self._finish(to_rpc(DeadlineError("The time of the call ran out.")), told=False)
        self._wake()

    def _finish(self, error: BaseException | None, *, told: bool) -> None:
        self._open = False
        self._error = error
        self._deadlines.discard(self)
        self._pipe.drop(self._number, told=told)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _acknowledge(self, size: int) -> None:
        # In large portions: each is a frame.
        self._read += size
        if self._open and self._read >= WINDOW // 2:
            self._pipe.grant(self._number, self._read)
            self._read = 0
