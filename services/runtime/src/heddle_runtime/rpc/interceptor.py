"""Wraps the handlers of every service: sets the caller, validates, converts failures, logs.

The same wrappers serve calls that arrive over gRPC and calls that arrive over a multiplexed stream
(`heddle_runtime.rpc.multiplex`). A call from the same process
(`heddle_runtime.rpc.in_process`) is checked in the same way and is not logged again.
"""

import sqlite3
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

import grpc
import structlog
from google.protobuf import descriptor_pool
from google.protobuf.message import DecodeError
from heddle.call.v1 import call_pb2

from heddle_runtime.contract.validation import REQUIRED, faults
from heddle_runtime.errors import (
    DETAILS_KEY,
    DeadlineError,
    HeddleError,
    InvalidRequestError,
    UnauthenticatedError,
    from_rpc,
    shortened,
    to_status,
)
from heddle_runtime.identity.call_metadata import (
    AUTHORIZATION,
    FRESH,
    GRANT,
    REQUEST_ID,
    TRACE,
    Context,
    Stopwatch,
    caller,
)
from heddle_runtime.identity.permissions import Right, require
from heddle_runtime.rpc.admission import AdmissionControl
from heddle_runtime.storage.failures import storage_problem
from heddle_runtime.telemetry import log_fields, logs, spans
from heddle_runtime.telemetry.metrics import table

if TYPE_CHECKING:  # grpcio's own classes are not generic at run time
    Handler = grpc.RpcMethodHandler[Any, Any]

log = structlog.get_logger(__name__)
INTERNAL_FAILURE = "The service failed. Try again, or give the request id to the operator."


Decode = Callable[[bytes], Any]
Unary = Callable[[Any, Any], Awaitable[Any]]
Streaming = Callable[[Any, Any], AsyncGenerator[Any]]


def permitted(method: str, implementation: Any) -> Any:
    """Wrap a handler so that it rejects callers without the right that the contract requires.

    Args:
        method: The path of the method.
        implementation: The servicer's own handler, unary or streaming.
    """
    right = right_of(method)
    if right is None:
        return implementation

    def handle(request: Any, context: Context) -> Any:
        require(caller().identity, right)
        return implementation(request, context)

    return handle


def right_of(method: str) -> Right | None:
    """Return the right that the contract of a method requires; None if it names none."""
    try:
        known = descriptor_pool.Default().FindMethodByName(method[1:].replace("/", "."))
    except KeyError:  # gRPC's own
        return None
    number = known.GetOptions().Extensions[call_pb2.right]
    name = call_pb2.Right.Name(number).removeprefix("RIGHT_").lower()
    return cast("Right", name) if number else None


def guarded_unary(method: str, implementation: Any) -> Unary:
    """Wrap a unary handler: every failure is raised as a `HeddleError`.

    Args:
        method: The path of the method.
        implementation: The servicer's own handler.
    """
    rpc = _rpc(method)
    implementation = permitted(method, implementation)

    async def handle(request: Any, context: Context) -> Any:
        with _CallBoundary(method, request, context):
            return await spans.traced_call(
                implementation(request, context), method[1:], "SERVER", rpc
            )

    return handle


def guarded_streaming(method: str, implementation: Any) -> Streaming:
    """Wrap a server-streaming handler, which is an async generator, in the same way."""
    rpc = _rpc(method)
    implementation = permitted(method, implementation)

    async def handle(request: Any, context: Context) -> AsyncGenerator[Any]:
        with _CallBoundary(method, request, context):
            answers = spans.traced_stream(
                implementation(request, context), method[1:], "SERVER", rpc
            )
            async with aclosing(answers) as responses:
                async for response in responses:
                    yield response

    return handle


def implemented(handlers: "Mapping[str, Handler]") -> "Mapping[str, Handler]":
    """Return the methods that a servicer implements. Generated code adds one for each other."""
    return {
        name: handler
        for name, handler in handlers.items()
        if not _implementation(handler).__module__.endswith("_pb2_grpc")
    }


def _implementation(handler: "Handler") -> Any:
    return (
        handler.unary_unary or handler.unary_stream or handler.stream_unary or handler.stream_stream
    )


def _rpc(method: str) -> Callable[[], spans.Attributes]:
    attributes = {"rpc.system.name": "grpc", "rpc.method": method[1:]}
    return lambda: attributes


def check(request: Any, *, limited: bool) -> None:
    """Validate a call; `limited` says whether it has a deadline.

    Raises:
        InvalidRequestError: It has no deadline, or lacks required fields or has impossible times.
    """
    if not limited:
        raise InvalidRequestError("The call has no deadline. Set a timeout.")
    if violations := faults(request):
        if missing := [each for each in violations if each.description == REQUIRED]:
            raise InvalidRequestError("The request lacks required fields.", missing)
        raise InvalidRequestError("The request has impossible times.", violations)


def decoded(decode: Decode, request: bytes) -> Any:
    """Return the request of a call.

    Raises:
        InvalidRequestError: The bytes cannot be decoded.
    """
    try:
        return decode(request)
    except DecodeError:
        raise InvalidRequestError("The request cannot be decoded.") from None


def to_heddle_error(method: str, error: Exception) -> HeddleError:
    """Return the error that the caller receives for a failure of a handler."""
    expected = _expected(error)
    if expected is None:
        log.error("unexpected failure", method=method, exc_info=error)
        return HeddleError(INTERNAL_FAILURE)
    return expected


@dataclass(frozen=True, slots=True)
class Method:
    """One method of a servicer."""

    implementation: Any
    """A function of a request and a context: a `Unary` or a `Streaming`."""
    streaming: bool
    encode: Callable[[Any], bytes]
    _decode: Decode

    def decode(self, request: bytes) -> Any:
        """Return the request.

        Raises:
            InvalidRequestError: The bytes cannot be decoded.
        """
        return decoded(self._decode, request)


class Methods(dict[str, Method]):
    """The methods by path. Generated code registers servicers here as it does at a server.

    A gRPC interceptor would do the work of the wrappers for every call instead of once per method.
    """

    def add_generic_rpc_handlers(self, handlers: Sequence[Any]) -> None:
        """Do nothing: `add_registered_method_handlers` receives the same handlers."""

    def add_registered_method_handlers(
        self, service: str, handlers: "Mapping[str, Handler]"
    ) -> None:
        """Add the methods of a servicer. Called by generated code."""
        for name, handler in implemented(handlers).items():
            path = f"/{service}/{name}"
            implementation = (
                guarded_streaming(path, handler.unary_stream)
                if handler.response_streaming
                else guarded_unary(path, handler.unary_unary)
            )
            encode, decode = handler.response_serializer, handler.request_deserializer
            assert encode and decode  # generated code sets both  # noqa: S101, PT018 - for types
            self[path] = Method(implementation, handler.response_streaming, encode, decode)

    def serve(self, server: grpc.aio.Server, admission: AdmissionControl) -> None:
        """Let a server answer the methods, with errors as status codes of gRPC."""
        services: dict[str, dict[str, Handler]] = {}
        for path, method in self.items():
            _, service, name = path.split("/")
            # Without a decoder: gRPC would decode the request before the caller is authenticated.
            handler: Handler = (
                grpc.unary_stream_rpc_method_handler(
                    _streaming(service, method, admission), None, method.encode
                )
                if method.streaming
                else grpc.unary_unary_rpc_method_handler(
                    _unary(service, method, admission), None, method.encode
                )
            )
            services.setdefault(service, {})[name] = handler
        for service, handlers in services.items():
            server.add_registered_method_handlers(service, handlers)


def _unary(service: str, method: Method, admission: AdmissionControl) -> Any:
    async def handle(request: bytes, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
        try:
            with admission:
                _authenticate(admission, service, context)
                return await method.implementation(method.decode(request), context)
        except HeddleError as error:
            await abort(context, error)

    return handle


def _streaming(service: str, method: Method, admission: AdmissionControl) -> Any:
    # A coroutine that writes, not a generator: grpc.aio never closes a handler's generator when
    # the client goes away, so the cancellation would reach it only by garbage collection.
    async def handle(request: bytes, context: grpc.aio.ServicerContext[Any, Any]) -> None:
        try:
            with admission:
                _authenticate(admission, service, context)
                message = method.decode(request)
                async with aclosing(method.implementation(message, context)) as responses:
                    async for response in responses:
                        await context.write(response)
        except HeddleError as error:
            await abort(context, error)

    return handle


def _authenticate(
    admission: AdmissionControl, service: str, context: grpc.aio.ServicerContext[Any, Any]
) -> None:
    metadata = received_metadata(context)
    admission.authenticate(
        service,
        metadata.get(REQUEST_ID, ""),
        metadata.get(AUTHORIZATION, ""),
        metadata.get(TRACE, ""),
        metadata.get(GRANT, ""),
        fresh=FRESH in metadata,
    )


def received_metadata(context: grpc.aio.ServicerContext[Any, Any]) -> dict[str, str]:
    """Return the metadata of a call that Heddle knows.

    Raises:
        UnauthenticatedError: It carries more than one authorization.
    """
    metadata: dict[str, str] = {}
    for key, value in context.invocation_metadata() or ():
        if key in (AUTHORIZATION, FRESH, GRANT, REQUEST_ID, TRACE):
            if key in metadata and key == AUTHORIZATION:  # ambiguous
                raise UnauthenticatedError("The call carries two authorizations.")
            metadata[key] = value if isinstance(value, str) else value.decode("ascii", "replace")
    return metadata


def service_of(path: str) -> str:
    """Return the full name of the service in the path of a method."""
    return path[1:].partition("/")[0]


class _CallBoundary:
    """Validates the request of a call, converts its failure and writes its log line."""

    __slots__ = ("_context", "_method", "_request", "_watch")

    def __init__(self, method: str, request: Any, context: Context) -> None:
        self._method = method
        self._request = request
        self._context = context
        self._watch = Stopwatch()

    def __enter__(self) -> None:
        try:
            check(self._request, limited=self._context.time_remaining() is not None)
        except HeddleError as error:
            self._log(error.code, error)
            raise

    def __exit__(self, _: object, error: BaseException | None, __: TracebackType | None) -> None:
        if isinstance(error, Exception):
            failure = to_heddle_error(self._method, error)
            if failure.diagnosis:
                log.warning(
                    "call failed",
                    method=self._method,
                    error=failure.message,
                    diagnosis=failure.diagnosis,
                )
            self._log(failure.code, failure)
            if failure is not error:
                raise failure from error
        else:
            self._log(grpc.StatusCode.OK if error is None else grpc.StatusCode.CANCELLED)

    def _log(self, code: grpc.StatusCode, failure: HeddleError | None = None) -> None:
        if failure is not None:
            log_fields.add_failure(failure.reason, failure.metadata)
        fields = log_fields.current()
        seconds = self._watch.seconds()
        logs.ended("call", self._method, code.name, seconds, fields)
        table.RPC_CALL.observe(seconds, self._method[1:], code.name)


def _expected(error: BaseException) -> HeddleError | None:
    match error:
        case HeddleError():
            return error
        case grpc.aio.AioRpcError():  # of a call to another service
            return from_rpc(error)
        case TimeoutError():
            return DeadlineError("The deadline of the call has passed.")
        case OSError() | RuntimeError() | sqlite3.Error():
            return storage_problem(error)
        case _:
            return None


async def abort(context: grpc.aio.ServicerContext[Any, Any], error: HeddleError) -> None:
    """End a gRPC call with an error."""
    status = to_status(error).SerializeToString()
    await context.abort(error.code, shortened(error.message), ((DETAILS_KEY, status),))
