"""A channel whose calls go through pipes, if the server has them."""

import asyncio
from collections.abc import Awaitable, Callable
from collections.abc import Set as AbstractSet
from typing import Any, Self

import grpc
from google.protobuf.message import Message
from heddle.multiplex.v1 import multiplex_pb2_grpc as pb_grpc

from heddle_runtime.errors import HeddleError, to_rpc
from heddle_runtime.multiplex.call import MultiplexedCall
from heddle_runtime.multiplex.client import ClientStream, Metadata, carries

LARGEST_REQUEST = 64 * 1024
FULL = 100
"""Calls in a pipe from which on another one is opened, perhaps to another replica."""
MOST_PIPES = 8
RETRY_AFTER = 1.0
RETRY_AFTER_NO = 60.0
"""Seconds until a server that has no pipes is asked again: it may have been replaced."""


class MultiplexedChannel(grpc.aio.Channel):
    """Sends calls through a pipe that is open; without one, as calls of their own.

    Also large requests, calls without a deadline and those that stream requests go as calls of
    their own.
    """

    def __init__(self, channel: grpc.aio.Channel, safe: AbstractSet[str] = frozenset()) -> None:
        """Use `channel` for everything.

        Args:
            channel: Where the server is.
            safe: The paths of unary methods that may be repeated when a pipe broke.
        """
        self._channel = channel
        self._safe = safe
        self._pipes: list[ClientStream] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._opening = False
        self._closed = False
        self._again_at = 0.0
        self._tried = asyncio.Event()

    def unary_unary(  # type: ignore[override] # what generated code asks for, and no more
        self,
        method: str,
        request_serializer: Callable[[Any], bytes],
        response_deserializer: Callable[[bytes], Any],
        **options: Any,  # noqa: ANN401 - grpc's own
    ) -> Callable[..., Awaitable[Any]]:
        """Return a callable for the unary method at `method`. Called by generated code."""
        direct: Callable[..., Awaitable[Any]] = self._channel.unary_unary(
            method, request_serializer, response_deserializer, **options
        )
        open_call = self._opener(method, request_serializer, response_deserializer)
        safe = method in self._safe

        async def call(
            request: Message,
            timeout: float | None = None,  # noqa: ASYNC109 - a stub's signature
            metadata: Metadata = (),
        ) -> Any:  # noqa: ANN401 - the method's own response
            opened = open_call(request, timeout, metadata)
            if opened is None:
                return await direct(request, timeout=timeout, metadata=metadata)
            try:
                return await _only(opened)
            except grpc.aio.AioRpcError as error:
                if self._closed or not safe or error.code() != grpc.StatusCode.UNAVAILABLE:
                    raise
            return await direct(request, timeout=opened.time_remaining(), metadata=metadata)

        return call

    def unary_stream(  # type: ignore[override] # as above
        self,
        method: str,
        request_serializer: Callable[[Any], bytes],
        response_deserializer: Callable[[bytes], Any],
        **options: Any,  # noqa: ANN401 - grpc's own
    ) -> Callable[..., Any]:
        """Return a callable for the streaming method at `method`. Called by generated code."""
        direct: Callable[..., Any] = self._channel.unary_stream(
            method, request_serializer, response_deserializer, **options
        )
        open_call = self._opener(method, request_serializer, response_deserializer)

        def call(request: Message, timeout: float | None = None, metadata: Metadata = ()) -> Any:  # noqa: ANN401 - a MultiplexedCall, or grpc's own call
            opened = open_call(request, timeout, metadata)
            return opened or direct(request, timeout=timeout, metadata=metadata)

        return call

    def stream_unary(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - grpc's own
        """Return grpc's own callable."""
        return self._channel.stream_unary(*args, **options)

    def stream_stream(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - grpc's own
        """Return grpc's own callable."""
        return self._channel.stream_stream(*args, **options)

    def get_state(self, try_to_connect: bool = False) -> grpc.ChannelConnectivity:  # noqa: FBT001, FBT002 - grpc's own
        """Return the state of the connection."""
        return self._channel.get_state(try_to_connect)

    async def wait_for_state_change(self, last_observed_state: grpc.ChannelConnectivity) -> None:
        """Wait until the connection is in another state."""
        await self._channel.wait_for_state_change(last_observed_state)

    async def channel_ready(self) -> None:
        """Wait until there is a connection, and a pipe if the server has pipes."""
        await self._channel.channel_ready()
        self._again_at = 0.0  # the server is there; whether it has pipes is to be found out
        if self._pipe() is None:
            self._tried.clear()
            await self._tried.wait()

    async def close(self, grace: float | None = None) -> None:
        """End all calls and the connection, after `grace` seconds at the latest."""
        self._closed = True
        for pipe in self._pipes:
            pipe.leave()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=grace or 0)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await self._channel.close(grace)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _opener(
        self,
        method: str,
        encode: Callable[[Any], bytes],
        decode: Callable[[bytes], Any],
    ) -> Callable[[Message, float | None, Metadata], MultiplexedCall | None]:
        """Return what opens a call of `method` in a pipe; None if it has to go another way."""
        ours = method.startswith("/heddle.")

        def open_call(
            request: Message, timeout: float | None, metadata: Metadata
        ) -> MultiplexedCall | None:
            if timeout is None or timeout <= 0 or not ours or not carries(metadata):
                return None
            pipe = self._pipe()
            if pipe is None:
                return None
            encoded = encode(request)
            if len(encoded) > LARGEST_REQUEST:
                return None
            return pipe.open(method, encoded, timeout, metadata, decode)

        return open_call

    def _pipe(self) -> ClientStream | None:
        for pipe in self._pipes:
            if len(pipe.calls) < FULL:
                return pipe
        if len(self._pipes) < MOST_PIPES and not self._opening and not self._closed:
            loop = asyncio.get_running_loop()
            if loop.time() >= self._again_at:
                self._opening = True
                task = loop.create_task(self._carry())
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
        return min(self._pipes, key=lambda pipe: len(pipe.calls), default=None)

    async def _carry(self) -> None:
        """Open a pipe, and run it until it ends."""
        stream = pb_grpc.MultiplexServiceStub(self._channel).Carry()
        try:
            hello = await stream.read()
            if hello is grpc.aio.EOF:
                self._pause(RETRY_AFTER)
                return
            self._opening = False
            pipe = ClientStream(stream)
            self._pipes.append(pipe)
            self._tried.set()
            await pipe.run(lambda: self._retire(pipe))
        except grpc.aio.AioRpcError as error:
            absent = error.code() == grpc.StatusCode.UNIMPLEMENTED
            self._pause(RETRY_AFTER_NO if absent else RETRY_AFTER)
        finally:
            self._opening = False
            self._tried.set()
            stream.cancel()

    def _pause(self, seconds: float) -> None:
        self._again_at = asyncio.get_running_loop().time() + seconds

    def _retire(self, pipe: ClientStream) -> None:
        if pipe in self._pipes:
            self._pipes.remove(pipe)


async def _only(call: MultiplexedCall) -> Any:  # noqa: ANN401 - the method's own response
    try:
        async for response in call:
            return response
        raise to_rpc(HeddleError("The service gave no answer."))
    finally:
        call.cancel()
