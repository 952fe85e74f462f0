"""The connection to one replica of a service, and the multiplexed streams over it."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import grpc
import structlog
from heddle.multiplex.v1 import multiplex_pb2_grpc as pb_grpc

from heddle_runtime.rpc.multiplex.client import SILENCE_SECONDS, ClientStream, Metadata

log = structlog.get_logger(__name__)
CALLS_PER_STREAM = 100
"""The number of calls on a stream from which another stream is opened."""
MAX_STREAMS = 8  # with all of them open, streams carry more calls
RETRY_SECONDS = 1.0
RETRY_UNSUPPORTED_SECONDS = 60.0
"""Seconds until a server without multiplexing is tried again, as it may have been replaced."""
RETRY_SILENT_SECONDS = 0.1
FIRST_SEARCH_SECONDS = 0.4
"""Seconds for the first stream after a server hung. Doubled with each attempt, because another
replica behind the same name answers quickly and a busy one may not."""


class Replica:
    """One replica, or all of those that one name stands for."""

    def __init__(
        self,
        connect: Callable[[], grpc.aio.Channel],
        services: set[str],
        stream_metadata: Callable[[], Metadata],
    ) -> None:
        """Prepare.

        Args:
            connect: Returns a new connection.
            services: The names of the services, for the log.
            stream_metadata: Returns the metadata that opens a stream.
        """
        self.connection = connect()
        """The connection for calls that no stream carries."""
        self.streams: list[ClientStream] = []
        self.silent = False
        """Whether the replica hangs: it gave no sign of life on the last stream."""
        self._connect = connect
        self._services = services
        self._stream_metadata = stream_metadata
        self._tasks: set[asyncio.Task[None]] = set()
        self._opening = False
        self._closed = False
        self._retry_at = 0.0
        self._attempted = asyncio.Event()
        self._hello_seconds = SILENCE_SECONDS

    def pick_stream(self) -> ClientStream | None:
        """Return a stream, None if none is open. Opens another one if that is necessary."""
        for stream in self.streams:
            if len(stream.calls) < CALLS_PER_STREAM:
                return stream
        may_open = len(self.streams) < MAX_STREAMS and not self._opening and not self._closed
        if may_open and asyncio.get_running_loop().time() >= self._retry_at:
            self._opening = True
            self._start(self._carry())
        return min(self.streams, key=lambda stream: len(stream.calls), default=None)

    async def attempt(self) -> None:
        """Wait until a stream is open, or could not be opened."""
        self._retry_at = 0.0
        if self.pick_stream() is None:
            self._attempted.clear()
            await self._attempted.wait()

    async def close(self, grace: float | None) -> None:
        """End all calls and the connection, after `grace` seconds at the latest."""
        self._closed = True
        for stream in self.streams:
            stream.drain()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=grace or 0)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await self.connection.close(grace)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry(self) -> None:
        connection = self.connection
        call = pb_grpc.MultiplexServiceStub(connection).Carry(metadata=self._stream_metadata())
        try:
            async with asyncio.timeout(self._hello_seconds):
                hello = await call.read()
            self.silent = False
            self._hello_seconds = SILENCE_SECONDS
            if hello is grpc.aio.EOF:
                self._pause(RETRY_SECONDS)
                return
            self._opening = False
            stream = ClientStream(call, connection)
            self.streams.append(stream)
            self._attempted.set()
            await stream.run(lambda: self._retire(stream))
        except TimeoutError:
            self._mark_silent()
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():  # otherwise `ClientStream` cancelled the stream
                raise
        except grpc.aio.AioRpcError as error:
            absent = error.code() == grpc.StatusCode.UNIMPLEMENTED
            self.silent = self.silent and not absent
            self._pause(RETRY_UNSUPPORTED_SECONDS if absent else RETRY_SECONDS)
        finally:
            self._opening = False
            self._attempted.set()
            call.cancel()

    def _mark_silent(self) -> None:
        if not self.silent:
            log.warning("a service gives no sign of life", services=sorted(self._services))
            self._hello_seconds = FIRST_SEARCH_SECONDS / 2
            # All calls over the connection wait for the replica. Closing it ends them.
            hanging, self.connection = self.connection, self._connect()
            self._start(hanging.close())
        self.silent = True
        self._hello_seconds = min(2 * self._hello_seconds, SILENCE_SECONDS)
        self._pause(RETRY_SILENT_SECONDS)

    def _pause(self, seconds: float) -> None:
        self._retry_at = asyncio.get_running_loop().time() + seconds

    def _retire(self, stream: ClientStream) -> None:
        if stream in self.streams:
            self.streams.remove(stream)
        if stream.silent and not self.streams:  # before its calls fail, which may be repeated
            self._mark_silent()
