"""The client's end of a pipe."""

import asyncio
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from heddle.multiplex.v1 import multiplex_pb2 as pb

from heddle_runtime.call_metadata import AUTHORIZATION, GRANT, REQUEST_ID, TRACE
from heddle_runtime.deadlines import Deadlines
from heddle_runtime.errors import UnavailableError
from heddle_runtime.multiplex.call import WINDOW, MultiplexedCall
from heddle_runtime.multiplex.send_queue import SendQueue

if TYPE_CHECKING:  # grpcio's own classes are not generic at run time
    import grpc

    Stream = grpc.aio.StreamStreamCall[pb.CarryRequest, pb.CarryResponse]

Metadata = Sequence[tuple[str, str]]
_FIELDS = {
    REQUEST_ID: "request_id",
    AUTHORIZATION: "authorization",
    TRACE: "traceparent",
    GRANT: "grant",
}
_LONGEST_TIMEOUT = 4_000_000  # seconds; more milliseconds do not fit the field
_BROKEN = "The connection to a service behind this one broke. Try again later."


class ClientStream:
    """One stream that carries calls."""

    def __init__(self, stream: "Stream") -> None:
        self.calls: dict[int, MultiplexedCall] = {}
        self._stream = stream
        self._outbox = SendQueue[pb.CarryRequest](pb.CarryRequest)
        self._deadlines = Deadlines()
        self._numbers = itertools.count(1)
        self._left = False

    def open(
        self,
        method: str,
        request: bytes,
        timeout: float,
        metadata: Metadata,
        decode: Callable[[bytes], Any],
    ) -> MultiplexedCall:
        """Start a call."""
        number = next(self._numbers)
        call = MultiplexedCall(self, number, timeout, self._deadlines, decode)
        self.calls[number] = call
        frame = self._outbox.filling(len(request)).frames.add(call=number)
        opened = frame.open
        opened.method = method
        opened.request = request
        opened.timeout_ms = max(1, int(min(timeout, _LONGEST_TIMEOUT) * 1000))
        opened.credit = WINDOW
        for key, value in metadata:
            setattr(opened, _FIELDS[key], value)
        return call

    def grant(self, number: int, size: int) -> None:
        """Tell the server that there is room for `size` more bytes."""
        self._outbox.filling().frames.add(call=number, credit=size)

    def drop(self, number: int, *, told: bool) -> None:
        """Forget a call that is over; tell the server unless it knows."""
        self.calls.pop(number, None)
        if not told:
            self._outbox.filling().frames.add(call=number, cancel=True)
        if self._left:
            self._close_if_idle()

    def leave(self) -> None:
        """Close the pipe as soon as its last call is over. Nobody may open another."""
        self._left = True
        self._close_if_idle()

    async def run(self, on_leaving: Callable[[], None]) -> None:
        """Carry until the stream ends, then fail the calls that it leaves behind.

        Args:
            on_leaving: Called when the server wants no more calls in this pipe.

        Raises:
            AioRpcError: The stream broke.
        """
        writing = asyncio.create_task(self._write())
        try:
            while isinstance(response := await self._stream.read(), pb.CarryResponse):
                for frame in response.frames:
                    if call := self.calls.get(frame.call):
                        call.receive(frame)
                if response.leaving:
                    on_leaving()
                    self.leave()
        finally:
            on_leaving()
            writing.cancel()
            for call in list(self.calls.values()):
                call.fail(UnavailableError(_BROKEN))
            await asyncio.gather(writing, return_exceptions=True)

    async def _write(self) -> None:
        await self._outbox.run(self._stream.write)
        await self._stream.done_writing()

    def _close_if_idle(self) -> None:
        if not self.calls:
            self._outbox.close()


def carries(metadata: Metadata) -> bool:
    """Return whether a pipe has a place for all of `metadata`."""
    return all(key in _FIELDS for key, _ in metadata)
