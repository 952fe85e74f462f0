"""The edge of every service: knows the caller, checks requests, maps failures, logs each call.

The same wrappers serve calls that arrive over gRPC (`ServerInterceptor`) and calls that arrive over
a multiplexed stream (`heddle_runtime.multiplex`). A call from the same process
(`heddle_runtime.in_process`) is checked in the same way and is not logged again.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

import grpc
import structlog

from heddle_runtime import logs
from heddle_runtime.admission import AdmissionControl
from heddle_runtime.call_metadata import (
    AUTHORIZATION,
    GRANT,
    REQUEST_ID,
    TRACE,
    Stopwatch,
)
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
from heddle_runtime.validation import is_complete, missing_fields

if TYPE_CHECKING:  # grpcio's own classes are not generic at run time
    Handler = grpc.RpcMethodHandler[Any, Any]

log = structlog.get_logger(__name__)
HIDDEN = "The service failed. The cause is in its log, under the request id."


class Context(Protocol):
    """The part of a call's context that servicers may use."""

    def time_remaining(self) -> float | None:
        """Return the seconds that are left."""


Unary = Callable[[Any, Any], Awaitable[Any]]
Streaming = Callable[[Any, Any], AsyncGenerator[Any]]


def guarded_unary(method: str, behavior: Any) -> Unary:
    """Wrap a unary handler: whatever goes wrong leaves it as a `HeddleError`.

    Args:
        method: The path of the method.
        behavior: The servicer's own handler.
    """

    async def handle(request: Any, context: Context) -> Any:
        with _Edge(method, request, context):
            return await behavior(request, context)

    return handle


def guarded_streaming(method: str, behavior: Any) -> Streaming:
    """Wrap a server-streaming handler, an async generator, likewise."""

    async def handle(request: Any, context: Context) -> AsyncGenerator[Any]:
        with _Edge(method, request, context):
            async with aclosing(behavior(request, context)) as responses:
                async for response in responses:
                    yield response

    return handle


def check(request: Any, *, limited: bool) -> None:
    """Refuse a call that nobody can answer well; `limited` says whether it has a deadline.

    Raises:
        InvalidRequestError: It has no deadline, or lacks what its contract requires.
    """
    if not limited:
        raise InvalidRequestError("The call has no deadline. Set one: nobody waits for ever.")
    if not is_complete(request):
        violations = missing_fields(request)
        raise InvalidRequestError("The request lacks required fields.", violations)


def foreseen(method: str, error: Exception) -> HeddleError:
    """Return what the caller may be told about a failure of a handler."""
    known = _known(error)
    if known is None:
        log.error("unexpected failure", method=method, exc_info=error)
        return HeddleError(HIDDEN)
    return known


class ServerInterceptor:
    """Puts the wrappers around the handlers of a servicer, and gRPC's codes around those.

    Stands where generated code wants a server. An interceptor would do the same at every call
    instead of once.
    """

    def __init__(self, server: grpc.aio.Server, entrance: AdmissionControl) -> None:
        self._server = server
        self._entrance = entrance

    def add_generic_rpc_handlers(self, handlers: Sequence[Any]) -> None:
        """Ignore what `add_registered_method_handlers` is told as well."""

    def add_registered_method_handlers(
        self, service: str, handlers: "Mapping[str, Handler]"
    ) -> None:
        """Take the methods of a servicer. Called by generated code."""
        guarded = {name: self._guarded(f"/{service}/{name}", h) for name, h in handlers.items()}
        self._server.add_registered_method_handlers(service, guarded)

    def _guarded(self, method: str, handler: "Handler") -> "Handler":
        if handler.response_streaming:
            return grpc.unary_stream_rpc_method_handler(
                self._streaming(guarded_streaming(method, handler.unary_stream)),
                handler.request_deserializer,
                handler.response_serializer,
            )
        return grpc.unary_unary_rpc_method_handler(
            self._unary(guarded_unary(method, handler.unary_unary)),
            handler.request_deserializer,
            handler.response_serializer,
        )

    def _unary(self, behavior: Unary) -> Any:
        async def handle(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
            try:
                with self._entrance:
                    self._enter(context)
                    return await behavior(request, context)
            except HeddleError as error:
                await _abort(context, error)

        return handle

    def _streaming(self, behavior: Streaming) -> Any:
        # A coroutine that writes, not a generator: grpc.aio never closes a handler's generator when
        # the client goes away, so the cancellation would reach it only by garbage collection.
        async def handle(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> None:
            try:
                with self._entrance:
                    self._enter(context)
                    async with aclosing(behavior(request, context)) as responses:
                        async for response in responses:
                            await context.write(response)
            except HeddleError as error:
                await _abort(context, error)

        return handle

    def _enter(self, context: grpc.aio.ServicerContext[Any, Any]) -> None:
        """Set the caller of this call's task."""
        given: dict[str, str] = {}
        for key, value in context.invocation_metadata() or ():
            if key in (AUTHORIZATION, GRANT, REQUEST_ID, TRACE):
                if key in given and key == AUTHORIZATION:  # which of the two would be believed?
                    raise UnauthenticatedError("The call carries two authorizations.")
                given[key] = value if isinstance(value, str) else value.decode("ascii", "replace")
        self._entrance.enter(
            given.get(REQUEST_ID, ""),
            given.get(AUTHORIZATION, ""),
            given.get(TRACE, ""),
            given.get(GRANT, ""),
        )


class _Edge:
    """What happens around a handler, and its log line. A class: it is entered for every call."""

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
            self._log(error.code)
            raise

    def __exit__(self, _: object, error: BaseException | None, __: TracebackType | None) -> None:
        if isinstance(error, Exception):
            known = foreseen(self._method, error)
            self._log(known.code)
            if known is not error:
                raise known from error
        else:
            self._log(grpc.StatusCode.OK if error is None else grpc.StatusCode.CANCELLED)

    def _log(self, code: grpc.StatusCode) -> None:
        logs.ended("call", self._method, code.name, self._watch.seconds())


def _known(error: BaseException) -> HeddleError | None:
    """Return the failure that the caller may be told about; None if nobody foresaw it."""
    match error:
        case HeddleError():
            return error
        case grpc.aio.AioRpcError():  # of an onward call
            return from_rpc(error)
        case TimeoutError():
            return DeadlineError("The time of the call ran out.")
        case _:
            return None


async def _abort(context: grpc.aio.ServicerContext[Any, Any], error: HeddleError) -> None:
    status = to_status(error).SerializeToString()
    await context.abort(error.code, shortened(error.message), ((DETAILS_KEY, status),))
