"""The server's end of multiplexed streams."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from weakref import WeakSet

import grpc
from heddle.multiplex.v1 import multiplex_pb2 as pb
from heddle.multiplex.v1 import multiplex_pb2_grpc as pb_grpc

from heddle_runtime.errors import HeddleError, InvalidRequestError
from heddle_runtime.identity.call_metadata import AUTHORIZATION
from heddle_runtime.rpc.admission import AdmissionControl
from heddle_runtime.rpc.deadlines import Deadlines
from heddle_runtime.rpc.interceptor import Methods, abort, decoded, received_metadata
from heddle_runtime.rpc.multiplex.send_queue import FRAMES_PER_TURN, SendQueue
from heddle_runtime.rpc.multiplex.server_call import ServerCall

_MAX_LOADING_MS = 60_000
_FLUSH_SECONDS = 0.02
_CONTRACT = pb.DESCRIPTOR.services_by_name["MultiplexService"]
_SERVICERS: "WeakSet[MultiplexServicer]" = WeakSet()


@asynccontextmanager
async def loading() -> AsyncGenerator[None]:
    """Tell clients that this process may be silent for a minute, while the block runs.

    Python runs no other code while it loads a large library. Clients would take the process for
    one that hangs, and end their calls.
    """
    for servicer in tuple(_SERVICERS):
        servicer.announce_loading(_MAX_LOADING_MS)
    await asyncio.sleep(_FLUSH_SECONDS)
    try:
        yield
    finally:
        for servicer in tuple(_SERVICERS):
            servicer.announce_loading(0)


_END_SECONDS = 1.0
"""Seconds that a client which breaks the protocol has to read what is being written."""


class MultiplexServicer(pb_grpc.MultiplexServiceServicer):
    """Serves multiplexed streams."""

    def __init__(self, admission: AdmissionControl) -> None:
        self.methods = Methods()
        self._admission = admission
        self._streams: set[_ServerStream] = set()
        self._draining = False
        self._serving = True
        self._loading_ms = 0
        _SERVICERS.add(self)

    def drain(self) -> None:
        """Ask every client to open no new calls on its stream."""
        self._draining = True
        for stream in self._streams:
            stream.drain()

    def announce_serving(self, serving: bool) -> None:  # noqa: FBT001 - the field's own type
        """Tell every client whether the components of this replica work."""
        if serving != self._serving:
            self._serving = serving
            for stream in self._streams:
                stream.send_queue.batch().serving = serving

    def announce_loading(self, milliseconds: int) -> None:
        """Tell every client for how long this process may be silent."""
        self._loading_ms = milliseconds
        for stream in self._streams:
            stream.send_queue.batch().loading_ms = milliseconds

    async def Carry(  # type: ignore[override] # noqa: N802 - generated; it writes, not yields
        self,
        request_iterator: AsyncIterator[bytes],
        context: "grpc.aio.ServicerContext[pb.CarryRequest, pb.CarryResponse]",
    ) -> None:
        """Serve one stream. Each of its calls is authenticated by its own token, too."""
        try:
            authorization = received_metadata(context).get(AUTHORIZATION, "")
            self._admission.identity(authorization, _CONTRACT.full_name)
            await self._serve(request_iterator, context)
        except HeddleError as error:
            await abort(context, error)

    async def _serve(
        self,
        requests: AsyncIterator[bytes],
        context: "grpc.aio.ServicerContext[pb.CarryRequest, pb.CarryResponse]",
    ) -> None:
        stream = _ServerStream(self.methods, self._admission)
        self._streams.add(stream)
        if self._draining:  # it opened after the other streams were drained
            stream.drain()
        if not self._serving:
            stream.send_queue.batch().serving = False
        if self._loading_ms:
            stream.send_queue.batch().loading_ms = self._loading_ms
        writing = asyncio.create_task(_write(stream.send_queue, context))
        try:
            async for data in requests:
                request = decoded(pb.CarryRequest.FromString, data)
                if request.ping:
                    stream.send_queue.batch().alive = True
                for count, frame in enumerate(request.frames, 1):
                    stream.receive(frame)
                    # A client that does not read responses is not read from, and a client that
                    # sends many frames lets others proceed.
                    if stream.send_queue.is_full or count % FRAMES_PER_TURN == 0:
                        await stream.send_queue.wait_for_room()
            await stream.finish()
            await writing
        except InvalidRequestError:
            # gRPC does not end a call while a message is being written.
            await stream.cancel_calls()
            stream.send_queue.close()
            await asyncio.wait([writing], timeout=_END_SECONDS)
            raise
        finally:
            self._streams.discard(stream)
            writing.cancel()
            await stream.cancel_calls()
            await asyncio.gather(writing, return_exceptions=True)


async def _write(
    send_queue: SendQueue[pb.CarryResponse],
    context: "grpc.aio.ServicerContext[pb.CarryRequest, pb.CarryResponse]",
) -> None:
    await context.write(pb.CarryResponse())
    await send_queue.run(context.write)


def add_multiplexing(servicer: MultiplexServicer, server: grpc.aio.Server) -> None:
    """Register the servicer. gRPC would answer `INTERNAL` to what generated code cannot decode."""
    handler: Any = grpc.stream_stream_rpc_method_handler(
        servicer.Carry, None, pb.CarryResponse.SerializeToString
    )
    server.add_registered_method_handlers(_CONTRACT.full_name, {"Carry": handler})


class _ServerStream:
    def __init__(self, methods: Methods, admission: AdmissionControl) -> None:
        self.send_queue = SendQueue[pb.CarryResponse](pb.CarryResponse)
        self.calls: dict[int, ServerCall] = {}
        self._methods = methods
        self._admission = admission
        self._deadlines = Deadlines()
        self._last = 0

    def receive(self, frame: pb.CallFrame) -> None:
        if frame.HasField("open"):
            if frame.call > self._last:  # a lower number may belong to another call
                self._last = frame.call
                self._open(frame.call, frame.open)
        elif call := self.calls.get(frame.call):
            if frame.HasField("credit"):
                call.allow(frame.credit)
            elif frame.HasField("cancel"):
                call.cancel()

    def drain(self) -> None:
        """Tell the client to open no new calls on this stream."""
        self.send_queue.batch().leaving = True

    async def finish(self) -> None:
        """Wait until the open calls have ended, then close the queue."""
        if self.calls:
            await asyncio.wait([call.task for call in self.calls.values()])
        self.send_queue.close()

    async def cancel_calls(self) -> None:
        """Cancel the calls whose responses cannot be delivered any more."""
        tasks = [call.task for call in self.calls.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _open(self, number: int, request: pb.Open) -> None:
        call = ServerCall(
            number, request, self.send_queue, self._deadlines, self._methods, self._admission
        )
        self.calls[number] = call
        call.task.add_done_callback(lambda _: self.calls.pop(number))
