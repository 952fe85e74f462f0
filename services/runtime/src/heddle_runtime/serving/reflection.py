"""Server reflection, by which clients such as grpcurl read the contracts from a running server."""

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format
from google.protobuf.descriptor import FileDescriptor
from grpc_reflection.v1alpha import reflection, reflection_pb2

from heddle_runtime.errors import UnauthenticatedError
from heddle_runtime.identity.call_metadata import AUTHORIZATION
from heddle_runtime.identity.callers import TokenVerifier
from heddle_runtime.rpc.interceptor import abort, received_metadata

_POOL = descriptor_pool.Default()
_V1ALPHA = reflection.SERVICE_NAME
_V1 = _V1ALPHA.replace("v1alpha", "v1")


def enable_reflection(
    server: grpc.aio.Server, services: Sequence[str], verifier: TokenVerifier | None
) -> None:
    """Let clients read the contracts of `services` from the server.

    Args:
        server: The server.
        services: The full names of its services.
        verifier: Clients need a token for one of the services. None: they need none.

    The versions `v1` and `v1alpha` of the service have the same messages. The package
    grpcio-reflection has `v1alpha` only.
    """
    _add_v1_contract()
    pool: Any = _Pool()
    servicer: Any = reflection.aio.ReflectionServicer([*services, _V1, _V1ALPHA], pool=pool)
    audiences = [*services, _V1, _V1ALPHA]

    async def reflect(
        requests: AsyncIterator[Any], context: "grpc.aio.ServicerContext[Any, Any]"
    ) -> AsyncIterator[Any]:
        if verifier is not None:
            try:
                _authenticate(verifier, audiences, context)
            except UnauthenticatedError as error:
                await abort(context, error)
        async for response in servicer.ServerReflectionInfo(requests, context):
            yield response

    handler = grpc.stream_stream_rpc_method_handler(
        reflect,
        request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
        response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
    )
    for name in (_V1, _V1ALPHA):
        handlers = {"ServerReflectionInfo": handler}
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(name, handlers)])


def _authenticate(
    verifier: TokenVerifier, audiences: Sequence[str], context: "grpc.aio.ServicerContext[Any, Any]"
) -> None:
    token = received_metadata(context).get(AUTHORIZATION, "").removeprefix("Bearer ")
    for audience in audiences[:-1]:
        with suppress(UnauthenticatedError):
            verifier.identity(token, audience)
            return
    verifier.identity(token, audiences[-1])


class _Pool:
    """The default pool of descriptors, which here also finds the files of methods."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as the pool
        return getattr(_POOL, name)

    def FindFileContainingSymbol(self, symbol: str) -> FileDescriptor:  # noqa: N802 - as the pool
        try:
            return _POOL.FindFileContainingSymbol(symbol)
        except KeyError:
            return _POOL.FindMethodByName(symbol).containing_service.file


@cache
def _add_v1_contract() -> None:
    file = descriptor_pb2.FileDescriptorProto()
    reflection_pb2.DESCRIPTOR.CopyToProto(file)
    text = json_format.MessageToJson(file).replace("v1alpha", "v1")
    _POOL.Add(json_format.Parse(text, descriptor_pb2.FileDescriptorProto()))
