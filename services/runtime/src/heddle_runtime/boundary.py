"""The edge of every service: knows the caller, checks requests, maps failures, logs each call.

The same wrappers serve calls that arrive over gRPC (`Boundary`) and calls of a neighbour in the
same process (`heddle_runtime.local`).
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import grpc
import structlog

from heddle_runtime.calls import (
    AUTHORIZATION,
    CALLER,
    REQUEST_ID,
    TRACE,
    Caller,
    Stopwatch,
    new_request_id,
)
from heddle_runtime.errors import (
    DETAILS_KEY,
    CancelledCallError,
    DeadlineError,
    HeddleError,
    InvalidRequestError,
    UnauthenticatedError,
    from_rpc,
    to_status,
)
from heddle_runtime.identity import ANONYMOUS, Identity, TokenVerifier
from heddle_runtime.validation import missing_fields

if TYPE_CHECKING:  # grpcio's own classes are not generic at run time
    from collections.abc import Iterator

    Handler = grpc.RpcMethodHandler[Any, Any]
    Continuation = Callable[[grpc.HandlerCallDetails], Awaitable[Handler | None]]

OURS = "/heddle."
log = structlog.get_logger(__name__)
_HIDDEN = "The service failed. The cause is in its log, under the request id."
_LONGEST_ID = 128


class Context(Protocol):
    """The part of a call's context that servicers may use."""

    def time_remaining(self) -> float | None:
        """Return the seconds that are left."""


Unary = Callable[[Any, Any], Awaitable[Any]]
Streaming = Callable[[Any, Any], AsyncGenerator[Any]]


def guarded_unary(method: str, behavior: Any) -> Unary:
    """Wrap a unary handler: whatever goes wrong leaves it as a `HeddleError`."""

    async def handle(request: Any, context: Context) -> Any:
        with _edge(method, request, context):
            return await behavior(request, context)

    return handle


def guarded_streaming(method: str, behavior: Any) -> Streaming:
    """Wrap a server-streaming handler, an async generator, likewise."""

    async def handle(request: Any, context: Context) -> AsyncGenerator[Any]:
        with _edge(method, request, context):
            async with aclosing(behavior(request, context)) as responses:
                async for response in responses:
                    yield response

    return handle


class Boundary(grpc.aio.ServerInterceptor):
    """Puts the wrappers around the handlers of our own services, and gRPC's codes around those."""

    def __init__(self, verifier: TokenVerifier | None) -> None:
        self._verifier = verifier

    async def intercept_service(
        self, continuation: "Continuation", handler_call_details: grpc.HandlerCallDetails
    ) -> "Handler | None":
        """Wrap unary and server-streaming handlers; leave health and reflection alone."""
        handler = await continuation(handler_call_details)
        method = handler_call_details.method
        if handler is None or not method.startswith(OURS):
            return handler
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
            if key in (AUTHORIZATION, REQUEST_ID, TRACE):
                if key in given and key == AUTHORIZATION:  # which of the two would be believed?
                    raise UnauthenticatedError("The call carries two authorizations.")
                given[key] = value if isinstance(value, str) else value.decode("ascii", "replace")
        request_id = given.get(REQUEST_ID, "")[:_LONGEST_ID] or new_request_id()
        CALLER.set(Caller(request_id))  # so that a refusal is logged under the id
        token = given.get(AUTHORIZATION, "").removeprefix("Bearer ")
        identity = self._identity(token)
        CALLER.set(Caller(request_id, identity, token, given.get(TRACE, "")[:_LONGEST_ID]))

    def _identity(self, token: str) -> Identity:
        return ANONYMOUS if self._verifier is None else self._verifier.identity(token)


@contextmanager
def _edge(method: str, request: Any, context: Context) -> "Iterator[None]":
    watch = Stopwatch()
    code = grpc.StatusCode.OK
    try:
        if context.time_remaining() is None:
            raise InvalidRequestError("The call has no deadline. Set one: nobody waits for ever.")  # noqa: TRY301 - the handler below logs it
        if violations := tuple(missing_fields(request)):
            raise InvalidRequestError("The request lacks required fields.", violations)  # noqa: TRY301 - as above
        yield
    except HeddleError as error:
        code = error.code
        raise
    except grpc.aio.AioRpcError as error:  # of an onward call
        known = from_rpc(error)
        code = known.code
        raise known from error
    except TimeoutError as error:
        code = DeadlineError.code
        raise DeadlineError("The time of the call ran out.") from error
    except (asyncio.CancelledError, GeneratorExit):
        code = CancelledCallError.code
        raise
    except Exception as error:
        code = HeddleError.code
        log.exception("unexpected failure", method=method)
        raise HeddleError(_HIDDEN) from error
    finally:
        log.info("call", method=method, code=code.name, seconds=round(watch.seconds(), 6))


async def _abort(context: grpc.aio.ServicerContext[Any, Any], error: HeddleError) -> None:
    status = to_status(error).SerializeToString()
    await context.abort(error.code, error.message, ((DETAILS_KEY, status),))
