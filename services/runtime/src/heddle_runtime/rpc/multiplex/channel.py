"""A channel that sends calls over multiplexed streams if the server offers them."""

import asyncio
from collections.abc import Awaitable, Callable
from collections.abc import Set as AbstractSet
from typing import Any, NoReturn, Self, cast

import grpc
from google.protobuf.message import Message
from heddle.multiplex.v1 import multiplex_pb2 as pb

from heddle_runtime.errors import HeddleError, UnavailableError, to_rpc
from heddle_runtime.identity.call_metadata import AUTHORIZATION, caller
from heddle_runtime.identity.callers import Identity, TokenSigner
from heddle_runtime.rpc.interceptor import service_of
from heddle_runtime.rpc.multiplex.call import MultiplexedCall
from heddle_runtime.rpc.multiplex.client import ClientStream, Metadata, can_carry
from heddle_runtime.rpc.multiplex.plain import HANGS, PlainStream, RefusedStream, response_of
from heddle_runtime.rpc.multiplex.replica import Replica
from heddle_runtime.rpc.multiplex.replica_set import Connect, ReplicaSet
from heddle_runtime.settings.service_address import ServiceAddress

Authorize = Callable[[Metadata], Metadata]
_OURS = "/heddle."
MAX_REQUEST_BYTES = 64 * 1024
_RETRY_SECONDS = 1.0
_STREAMS = pb.DESCRIPTOR.services_by_name["MultiplexService"].full_name
_STREAM_IDENTITY = Identity("heddle-channel")
"""The identity that opens streams. It has no rights: each call carries that of its caller."""


class MultiplexedChannel(grpc.aio.Channel):
    """Sends calls over open streams, and as plain gRPC calls if there is none.

    Large requests and calls without a deadline are always plain. The
    replicas of a service take turns. Those that hang get no calls, of either kind, until they
    respond again.
    """

    def __init__(
        self,
        address: ServiceAddress,
        connect: Connect,
        safe: AbstractSet[str] = frozenset(),
        signer: TokenSigner | None = None,
    ) -> None:
        """Create the channel; it connects when it is used.

        Args:
            address: The address of the replicas.
            connect: Returns a new connection to a replica, or to all of them.
            safe: The paths of unary methods that may be repeated when a connection broke.
            signer: Signs the identity of the caller for the service that is called. Without it,
                calls carry no authorization.
        """
        self._signer = signer
        self._safe = safe
        self._services: set[str] = set()
        self._replicas = ReplicaSet(address, connect, self._services, self._stream_metadata)
        self._closed = False

    def unary_unary(  # type: ignore[override] # only what generated code uses
        self,
        method: str,
        request_serializer: Callable[[Any], bytes],
        response_deserializer: Callable[[bytes], Any],
        **options: Any,  # noqa: ANN401 - grpc's own
    ) -> Callable[..., Awaitable[Any]]:
        """Return a callable for the unary method at `method`. Called by generated code."""
        open_call = self._opener(method, request_serializer, response_deserializer)
        safe = method in self._safe
        authorized = self._authorizer(method)

        def plain(
            stream: ClientStream | None, request: Message, timeout: float | None, metadata: Metadata
        ) -> Awaitable[Any]:
            if error := self._refusal(stream):
                raise error
            direct = self._replicas.connection(stream).unary_unary(
                method, request_serializer, response_deserializer, **options
            )
            return response_of(direct(request, timeout=timeout, metadata=metadata))

        async def call(
            request: Message,
            timeout: float | None = None,  # noqa: ASYNC109 - a stub's signature
            metadata: Metadata = (),
        ) -> Any:  # noqa: ANN401 - the method's own response
            metadata = authorized(metadata)
            stream = self._replicas.pick()
            opened = open_call(stream, request, timeout, metadata)
            response = _only(opened) if opened else plain(stream, request, timeout, metadata)
            if not safe or stream is None:  # without a stream, gRPC itself repeats the call
                return await response
            began = asyncio.get_running_loop().time()
            try:
                return await response
            except grpc.aio.AioRpcError as error:
                if self._closed or error.code() != grpc.StatusCode.UNAVAILABLE:
                    raise
                if opened is None and self._replicas.is_open(stream):
                    raise  # gRPC has repeated the call at a replica that works
            if timeout is not None:
                timeout = max(0.0, timeout + began - asyncio.get_running_loop().time())
            return await plain(self._replicas.pick(), request, timeout, metadata)

        return call

    def unary_stream(  # type: ignore[override] # as above
        self,
        method: str,
        request_serializer: Callable[[Any], bytes],
        response_deserializer: Callable[[bytes], Any],
        **options: Any,  # noqa: ANN401 - grpc's own
    ) -> Callable[..., Any]:
        """Return a callable for the streaming method at `method`. Called by generated code."""
        open_call = self._opener(method, request_serializer, response_deserializer)
        authorized = self._authorizer(method)

        def call(
            request: Message, timeout: float | None = None, metadata: Metadata = ()
        ) -> MultiplexedCall | PlainStream | RefusedStream:
            metadata = authorized(metadata)
            stream = self._replicas.pick()
            if opened := open_call(stream, request, timeout, metadata):
                return opened
            if error := self._refusal(stream):
                return RefusedStream(error)
            direct: Callable[..., Any] = self._replicas.connection(stream).unary_stream(
                method, request_serializer, response_deserializer, **options
            )
            return PlainStream(direct(request, timeout=timeout, metadata=metadata))

        return call

    def stream_unary(self, *_: Any, **__: Any) -> NoReturn:  # noqa: ANN401 - grpc's own
        """Refuse: no contract streams requests to a service but that of the streams themselves."""
        raise NotImplementedError

    stream_stream = stream_unary

    def get_state(self, try_to_connect: bool = False) -> grpc.ChannelConnectivity:  # noqa: FBT001, FBT002 - grpc's own
        """Return the state of the connection."""
        return self._replicas.connection().get_state(try_to_connect)

    async def wait_for_state_change(self, last_observed_state: grpc.ChannelConnectivity) -> None:
        """Wait until the connection is in another state."""
        await self._replicas.connection().wait_for_state_change(last_observed_state)

    async def channel_ready(self) -> None:
        """Wait until there is a connection, and streams if the server offers multiplexing."""
        await self._replicas.attempt()

    def to_each_replica(self) -> dict[str, grpc.aio.Channel]:
        """Return channels for unary calls to one replica each, by their addresses.

        There are none until the names of the service have been looked up.
        """
        return {
            address: cast("grpc.aio.Channel", _ReplicaChannel(replica, self._authorizer))
            for address, replica in self._replicas.by_address().items()
        }

    async def close(self, grace: float | None = None) -> None:
        """End all calls and the connections, after `grace` seconds at the latest."""
        self._closed = True
        await self._replicas.close(grace)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _authorizer(self, method: str) -> Authorize:
        signer = self._signer
        if signer is None or not method.startswith(_OURS):
            return lambda metadata: metadata
        service = service_of(method)

        def authorized(metadata: Metadata) -> Metadata:
            token = signer.token(caller().identity, service)
            return (*metadata, (AUTHORIZATION, f"Bearer {token}"))

        return authorized

    def _opener(
        self,
        method: str,
        encode: Callable[[Any], bytes],
        decode: Callable[[bytes], Any],
    ) -> Callable[[ClientStream | None, Message, float | None, Metadata], MultiplexedCall | None]:
        """Return a function that opens a call on a stream, or returns None for a plain call."""
        ours = method.startswith(_OURS)
        self._services.add(service_of(method))

        def open_call(
            stream: ClientStream | None,
            request: Message,
            timeout: float | None,
            metadata: Metadata,
        ) -> MultiplexedCall | None:
            if stream is None or timeout is None or timeout <= 0:
                return None
            if not ours or not can_carry(metadata):
                return None
            encoded = encode(request)
            if len(encoded) > MAX_REQUEST_BYTES:
                return None
            return stream.open(method, encoded, timeout, metadata, decode)

        return open_call

    def _stream_metadata(self) -> Metadata:
        if self._signer is None:
            return ()
        return ((AUTHORIZATION, f"Bearer {self._signer.token(_STREAM_IDENTITY, _STREAMS)}"),)

    def _refusal(self, stream: ClientStream | None) -> grpc.aio.AioRpcError | None:
        """Return UNAVAILABLE for a call that would wait for servers that hang; None for others."""
        if stream is None and self._replicas.silent:
            return to_rpc(UnavailableError(HANGS, retry_after=_RETRY_SECONDS))
        return None


class _ReplicaChannel:
    """Sends plain unary calls to one replica, also if it hangs. Generated code uses it."""

    def __init__(self, replica: Replica, authorizer: Callable[[str], Authorize]) -> None:
        self._replica = replica
        self._authorizer = authorizer

    def unary_unary(self, method: str, *coders: Any, **options: Any) -> Callable[..., Any]:  # noqa: ANN401 - grpc's own
        authorized = self._authorizer(method)

        def call(
            request: Message, timeout: float | None = None, metadata: Metadata = ()
        ) -> Awaitable[Any]:
            direct = self._replica.connection.unary_unary(method, *coders, **options)
            return response_of(direct(request, timeout=timeout, metadata=authorized(metadata)))

        return call


async def _only(call: MultiplexedCall) -> Any:  # noqa: ANN401 - the method's own response
    try:
        async for response in call:
            return response
        raise to_rpc(HeddleError("The service sent no response."))
    finally:
        call.cancel()
