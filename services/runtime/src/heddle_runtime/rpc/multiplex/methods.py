"""The methods that a server offers on multiplexed streams, behind the same checks as over gRPC."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from heddle_runtime.rpc.interceptor import (
    decoded,
    guarded_streaming,
    guarded_unary,
    implemented,
)

if TYPE_CHECKING:  # grpcio's own classes are not generic at run time
    import grpc


@dataclass(frozen=True, slots=True)
class Method:
    """One method of a servicer."""

    implementation: Any
    """A function of a request and a context; see `heddle_runtime.rpc.interceptor`."""
    streaming: bool
    encode: Callable[[Any], bytes]
    _decode: Callable[[bytes], Any]

    def decode(self, request: bytes) -> Any:  # noqa: ANN401 - the method's own request
        """Return the request.

        Raises:
            InvalidRequestError: The bytes cannot be decoded.
        """
        return decoded(self._decode, request)


class Methods(dict[str, Method]):
    """The methods by path. Generated code registers servicers here as it does at a server."""

    def add_generic_rpc_handlers(self, handlers: Sequence[Any]) -> None:
        """Do nothing: `add_registered_method_handlers` receives the same handlers."""

    def add_registered_method_handlers(
        self, service: str, handlers: "Mapping[str, grpc.RpcMethodHandler[Any, Any]]"
    ) -> None:
        """Add the methods of a servicer. Called by generated code."""
        for name, handler in implemented(handlers).items():
            path = f"/{service}/{name}"
            if handler.request_streaming:  # rare, long and large: sent as plain gRPC calls
                continue
            implementation = (
                guarded_streaming(path, handler.unary_stream)
                if handler.response_streaming
                else guarded_unary(path, handler.unary_unary)
            )
            encode, decode = handler.response_serializer, handler.request_deserializer
            assert encode and decode  # generated code sets both  # noqa: S101, PT018 - for types
            self[path] = Method(implementation, handler.response_streaming, encode, decode)


def service_of(path: str) -> str:
    """Return the full name of the service in the path of a method."""
    return path[1:].partition("/")[0]
