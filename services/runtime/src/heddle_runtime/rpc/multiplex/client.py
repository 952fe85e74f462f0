"""The client's end of a multiplexed stream."""

import asyncio
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from heddle.multiplex.v1 import multiplex_pb2 as pb

from heddle_runtime.errors import UnavailableError
from heddle_runtime.identity.call_metadata import AUTHORIZATION, GRANT, REQUEST_ID, TRACE
from heddle_runtime.rpc.deadlines import Deadlines
from heddle_runtime.rpc.multiplex.call import WINDOW, MultiplexedCall
from heddle_runtime.rpc.multiplex.send_queue import SendQueue

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
_MAX_TIMEOUT_SECONDS = 4_000_000  # seconds; more milliseconds do not fit the field
BEAT_SECONDS = 0.5
SILENCE_SECONDS = 3.5
"""Seconds without a sign of life after which a server counts as hung."""
_BROKEN = "The connection to another service was lost. Try again later."


class ClientStream:
    """A stream that carries many calls."""

    def __init__(self, stream: "Stream", connection: "grpc.aio.Channel") -> None:
        self.connection = connection
        """The connection of the stream. Plain calls use it while the stream shows that it works."""
        self.calls: dict[int, MultiplexedCall] = {}
        self._stream = stream
        self._send_queue = SendQueue[pb.CarryRequest](pb.CarryRequest)
        self._deadlines = Deadlines()
        self._numbers = itertools.count(1)
        self._draining = False
        self._heard = asyncio.get_running_loop().time()
        self._loading_until = 0.0
        self.serving = True
        """Whether the replica reports that it can work."""
        self.silent = False
        """Whether the stream ended because the server gave no sign of life."""

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
        frame = self._send_queue.batch(len(request)).frames.add(call=number)
        opened = frame.open
        opened.method = method
        opened.request = request
        opened.timeout_ms = max(1, int(min(timeout, _MAX_TIMEOUT_SECONDS) * 1000))
        opened.credit = WINDOW
        for key, value in metadata:
            setattr(opened, _FIELDS[key], value)
        return call

    def grant(self, number: int, size: int) -> None:
        """Allow the server to send `size` more bytes."""
        self._send_queue.batch().frames.add(call=number, credit=size)

    def drop(self, number: int, *, notify: bool) -> None:
        """Remove a call that has ended. `notify` says whether to cancel it at the server."""
        self.calls.pop(number, None)
        if notify:
            self._send_queue.batch().frames.add(call=number, cancel=True)
        if self._draining:
            self._close_if_idle()

    def drain(self) -> None:
        """Close the stream when its last call ends. No new call may be opened."""
        self._draining = True
        self._close_if_idle()

    async def run(self, on_drain: Callable[[], None]) -> None:
        """Carry calls until the stream ends, then fail the calls that are still open.

        Args:
            on_drain: Called when the server accepts no new calls on this stream.

        Raises:
            AioRpcError: The stream broke.
        """
        writing = asyncio.create_task(self._write())
        watching = asyncio.create_task(self._watch())
        try:
            while isinstance(response := await self._stream.read(), pb.CarryResponse):
                self._heard = asyncio.get_running_loop().time()
                if response.HasField("loading_ms"):
                    self._loading_until = self._heard + response.loading_ms / 1000
                if response.HasField("serving"):
                    self.serving = response.serving
                for frame in response.frames:
                    if call := self.calls.get(frame.call):
                        call.receive(frame)
                if response.leaving:
                    on_drain()
                    self.drain()
        finally:
            on_drain()
            writing.cancel()
            watching.cancel()
            for call in list(self.calls.values()):
                call.fail(UnavailableError(_BROKEN))
            await asyncio.gather(writing, watching, return_exceptions=True)

    async def _watch(self) -> None:
        """End the stream if the server hangs. Its connection may be intact.

        The keepalive of gRPC does not notice an event loop that is blocked, because other threads
        of the server answer it.
        """
        loop = asyncio.get_running_loop()
        while True:
            begin = loop.time()
            await asyncio.sleep(BEAT_SECONDS)
            now = loop.time()
            # This process itself was late, or the server said that it will be.
            if now - begin > 2 * BEAT_SECONDS or now < self._loading_until:
                self._heard = now
            if now - self._heard > SILENCE_SECONDS:
                self.silent = True
                self._stream.cancel()
                return
            if now - self._heard > BEAT_SECONDS:
                self._send_queue.batch().ping = True

    async def _write(self) -> None:
        await self._send_queue.run(self._stream.write)
        await self._stream.done_writing()

    def _close_if_idle(self) -> None:
        if not self.calls:
            self._send_queue.close()


def can_carry(metadata: Metadata) -> bool:
    """Return whether a multiplexed call can carry all of `metadata`."""
    return all(key in _FIELDS for key, _ in metadata)
