"""A channel that sends calls over multiplexed streams if the server offers them."""

import asyncio
from collections.abc import Awaitable, Callable
from collections.abc import Set as AbstractSet
from typing import Any, Self

import grpc
import structlog
from google.protobuf.message import Message
from heddle.multiplex.v1 import multiplex_pb2_grpc as pb_grpc

from heddle_runtime.call_metadata import AUTHORIZATION, caller
from heddle_runtime.errors import HeddleError, UnavailableError, to_rpc
from heddle_runtime.identity import ANONYMOUS, TokenSigner
from heddle_runtime.multiplex.call import MultiplexedCall
from heddle_runtime.multiplex.client import SILENCE_SECONDS, ClientStream, Metadata, can_carry
from heddle_runtime.multiplex.methods import service_of

log = structlog.get_logger(__name__)
_OURS = "/heddle."
MAX_REQUEST_BYTES = 64 * 1024
CALLS_PER_STREAM = 100
"""Calls on a stream from which on another stream is opened, perhaps to another replica."""
MAX_STREAMS = 8
RETRY_SECONDS = 1.0
RETRY_UNSUPPORTED_SECONDS = 60.0
"""Seconds until a server without multiplexing is tried again, as it may have been replaced."""
RETRY_SILENT_SECONDS = 0.1
FIRST_SEARCH_SECONDS = 0.4
"""Seconds for the first stream after a server hung. Doubled with each attempt, because another
replica answers quickly and a busy one may not."""
_HANGS = "Another service does not respond. Try again later."


class MultiplexedChannel(grpc.aio.Channel):
    """Sends calls over an open stream, and as plain gRPC calls if there is none.

    Large requests, calls without a deadline and calls that stream requests are always plain.
    """

    def __init__(
        self,
        channel: grpc.aio.Channel,
        safe: AbstractSet[str] = frozenset(),
        signer: TokenSigner | None = None,
    ) -> None:
        """Use `channel` for everything.

        Args:
            channel: The connection to the server.
            safe: The paths of unary methods that may be repeated when a stream broke.
            signer: Signs the identity of the caller for the service that is called. Without it,
                calls carry no authorization.
        """
        self._channel = channel
        self._signer = signer
        self._safe = safe
        self._services: set[str] = set()
        self._streams: list[ClientStream] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._opening = False
        self._closed = False
        self._retry_at = 0.0
        self._attempted = asyncio.Event()
        self._hello_seconds = SILENCE_SECONDS
        self._silent = False
        """Whether the server hangs: it gave no sign of life on the last stream."""

    def unary_unary(  # type: ignore[override] # only what generated code uses
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
        authorized = self._authorizer(method)

        async def call(
            request: Message,
            timeout: float | None = None,  # noqa: ASYNC109 - a stub's signature
            metadata: Metadata = (),
        ) -> Any:  # noqa: ANN401 - the method's own response
            metadata = authorized(metadata)
            opened = open_call(request, timeout, metadata)
            if opened is None:
                self._refuse_if_silent()
                return await direct(request, timeout=timeout, metadata=metadata)
            try:
                return await _only(opened)
            except grpc.aio.AioRpcError as error:
                if self._closed or not safe or error.code() != grpc.StatusCode.UNAVAILABLE:
                    raise
            self._refuse_if_silent()
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
        authorized = self._authorizer(method)

        def call(request: Message, timeout: float | None = None, metadata: Metadata = ()) -> Any:  # noqa: ANN401 - a MultiplexedCall, or grpc's own call
            metadata = authorized(metadata)
            opened = open_call(request, timeout, metadata)
            if opened is None:
                self._refuse_if_silent()
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
        """Wait until there is a connection, and a stream if the server offers multiplexing."""
        await self._channel.channel_ready()
        self._retry_at = 0.0  # the server is there; try multiplexing at once
        if self._pick_stream() is None:
            self._attempted.clear()
            await self._attempted.wait()

    async def close(self, grace: float | None = None) -> None:
        """End all calls and the connection, after `grace` seconds at the latest."""
        self._closed = True
        for stream in self._streams:
            stream.drain()
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

    def _authorizer(self, method: str) -> Callable[[Metadata], Metadata]:
        """Return a function that adds the authorization to the metadata of a call."""
        signer = self._signer
        if signer is None or not method.startswith(_OURS):
            return lambda metadata: metadata
        service = service_of(method)

        def authorized(metadata: Metadata) -> Metadata:
            identity = caller().identity
            if identity == ANONYMOUS:
                return metadata
            return (*metadata, (AUTHORIZATION, f"Bearer {signer.token(identity, service)}"))

        return authorized

    def _opener(
        self,
        method: str,
        encode: Callable[[Any], bytes],
        decode: Callable[[bytes], Any],
    ) -> Callable[[Message, float | None, Metadata], MultiplexedCall | None]:
        """Return a function that opens a call on a stream, or returns None for a plain call."""
        ours = method.startswith(_OURS)
        self._services.add(service_of(method))

        def open_call(
            request: Message, timeout: float | None, metadata: Metadata
        ) -> MultiplexedCall | None:
            if timeout is None or timeout <= 0 or not ours or not can_carry(metadata):
                return None
            carrier = self._pick_stream()
            if carrier is None:
                return None
            encoded = encode(request)
            if len(encoded) > MAX_REQUEST_BYTES:
                return None
            return carrier.open(method, encoded, timeout, metadata, decode)

        return open_call

    def _pick_stream(self) -> ClientStream | None:
        for stream in self._streams:
            if len(stream.calls) < CALLS_PER_STREAM:
                return stream
        if len(self._streams) < MAX_STREAMS and not self._opening and not self._closed:
            loop = asyncio.get_running_loop()
            if loop.time() >= self._retry_at:
                self._opening = True
                task = loop.create_task(self._carry())
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
        return min(self._streams, key=lambda stream: len(stream.calls), default=None)

    async def _carry(self) -> None:
        """Open a stream, and run it until it ends."""
        call = pb_grpc.MultiplexServiceStub(self._channel).Carry()
        try:
            async with asyncio.timeout(self._hello_seconds):
                hello = await call.read()
            self._silent = False
            self._hello_seconds = SILENCE_SECONDS
            if hello is grpc.aio.EOF:
                self._pause(RETRY_SECONDS)
                return
            self._opening = False
            stream = ClientStream(call)
            self._streams.append(stream)
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
            self._silent = self._silent and not absent
            self._pause(RETRY_UNSUPPORTED_SECONDS if absent else RETRY_SECONDS)
        finally:
            self._opening = False
            self._attempted.set()
            call.cancel()

    def _mark_silent(self) -> None:
        if not self._silent:
            log.warning("a service gives no sign of life", services=sorted(self._services))
            self._hello_seconds = FIRST_SEARCH_SECONDS / 2
        self._silent = True
        self._hello_seconds = min(2 * self._hello_seconds, SILENCE_SECONDS)
        self._pause(RETRY_SILENT_SECONDS)

    def _refuse_if_silent(self) -> None:
        """Raise UNAVAILABLE at once, where a call would wait for a server that hangs."""
        if self._silent:
            self._pick_stream()  # tries whether it is back, or another replica is there
            raise to_rpc(UnavailableError(_HANGS, retry_after=RETRY_SECONDS))

    def _pause(self, seconds: float) -> None:
        self._retry_at = asyncio.get_running_loop().time() + seconds

    def _retire(self, stream: ClientStream) -> None:
        if stream in self._streams:
            self._streams.remove(stream)
        if stream.silent and not self._streams:  # before its calls fail, which may be repeated
            self._mark_silent()


async def _only(call: MultiplexedCall) -> Any:  # noqa: ANN401 - the method's own response
    try:
        async for response in call:
            return response
        raise to_rpc(HeddleError("The service sent no response."))
    finally:
        call.cancel()
