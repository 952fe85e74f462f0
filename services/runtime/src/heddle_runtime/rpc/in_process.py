"""A channel to services of the same process, with the same stubs, servicers and checks.

Messages are passed by reference. Callers and servicers must not modify a message after sending or
receiving it.

Only calls from outside are validated. A call that a servicer makes while it handles another call
is not: its request was validated with the outer call or built by Heddle's own code.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from google.protobuf.message import Message

from heddle_runtime.errors import (
    DeadlineError,
    HeddleError,
    to_rpc,
    unimplemented,
)
from heddle_runtime.identity.call_metadata import caller, calling_as
from heddle_runtime.identity.callers import require_identity
from heddle_runtime.rpc.deadlines import Deadlines
from heddle_runtime.rpc.interceptor import (
    Streaming,
    Unary,
    check,
    implemented,
    permitted,
    to_heddle_error,
)

if TYPE_CHECKING:
    import grpc

_EXPIRED = "The deadline of the call has passed."
_OUTER_CALL: ContextVar["InProcessContext | None"] = ContextVar("heddle_local_call", default=None)
"""The call that the current code handles."""
Handlers = Mapping[str, "grpc.RpcMethodHandler[Any, Any]"]


class InProcessChannel:
    """Calls servicers directly. Generated code uses it both as a server and as a channel.

    Calls of a service that is still starting wait for `open`, at most until their deadline.
    """

    def __init__(self, *, is_starting: bool = False) -> None:
        self._unary: dict[str, Unary] = {}
        self._streaming: dict[str, Streaming] = {}
        self._deadlines = Deadlines()
        self._opened = asyncio.Event()
        if not is_starting:
            self.open()

    def open(self) -> None:
        """Answer calls: all methods are added."""
        self._opened.set()

    def add_generic_rpc_handlers(self, handlers: Sequence[Any]) -> None:
        """Do nothing: `add_registered_method_handlers` receives the same handlers."""

    def add_registered_method_handlers(self, service: str, handlers: Handlers) -> None:
        """Add the methods of a servicer. Called by generated code."""
        for name, handler in implemented(handlers).items():
            path = f"/{service}/{name}"
            if handler.response_streaming:
                self._streaming[path] = permitted(path, handler.unary_stream)
            else:
                self._unary[path] = permitted(path, handler.unary_unary)

    def unary_unary(self, path: str, *_: Any, **__: Any) -> Callable[..., Awaitable[Message]]:  # noqa: ANN401 - a channel's signature
        """Return a callable for the method at `path`. Called by generated code."""

        async def call(request: Message, timeout: float | None = None, **_: Any) -> Message:  # noqa: ANN401, ASYNC109 - a stub's signature
            implementation = self._unary.get(path) or self._unary_later(path)
            try:
                require_identity(caller().identity)
                self._require(path, self._unary)
            except HeddleError as error:
                raise to_rpc(error) from None
            outer = _OUTER_CALL.get()
            if timeout is not None and outer is not None and outer.covers(timeout):
                try:
                    return await implementation(request, outer)  # type: ignore[no-any-return] # handlers are untyped
                except Exception as error:
                    raise to_rpc(to_heddle_error(path, error)) from error
            context = InProcessContext(timeout, self._deadlines)
            token = _OUTER_CALL.set(context)
            try:
                if outer is None or timeout is None:
                    check(request, limited=timeout is not None)
                return await implementation(request, context)  # type: ignore[no-any-return] # as above
            except Exception as error:
                raise to_rpc(to_heddle_error(path, error)) from error
            except asyncio.CancelledError:
                context.raise_if_expired()
                raise
            finally:
                _OUTER_CALL.reset(token)
                context.end()

        return call

    def unary_stream(self, path: str, *_: Any, **__: Any) -> Callable[..., "InProcessStream"]:  # noqa: ANN401 - a channel's signature
        """Return a callable for the method at `path`. Called by generated code."""

        def call(request: Message, timeout: float | None = None, **_: Any) -> InProcessStream:  # noqa: ANN401 - a stub's signature
            implementation = self._streaming.get(path) or self._streaming_later(path)
            context = InProcessContext(timeout, self._deadlines)
            context.detach()  # no task works for the call before it is read
            try:
                require_identity(caller().identity)
                self._require(path, self._streaming)
                if timeout is None or _OUTER_CALL.get() is None:
                    check(request, limited=timeout is not None)
                responses = implementation(request, context)
            except HeddleError as error:
                responses = _failing(error)(request, context)
            return InProcessStream(path, responses, context)

        return call

    def _require(self, path: str, methods: Mapping[str, object]) -> None:
        if self._opened.is_set() and path not in methods:
            raise unimplemented(path)

    def _unary_later(self, path: str) -> Unary:
        async def call(request: Any, context: Any) -> Any:  # noqa: ANN401 - a handler's signature
            await self._opened.wait()
            self._require(path, self._unary)
            return await self._unary[path](request, context)

        return call

    def _streaming_later(self, path: str) -> Streaming:
        async def call(request: Any, context: Any) -> AsyncGenerator[Any]:  # noqa: ANN401 - a handler's signature
            await self._opened.wait()
            self._require(path, self._streaming)
            async with aclosing(self._streaming[path](request, context)) as responses:
                async for response in responses:
                    yield response

        return call


class InProcessStream:
    """A server-streaming call within the process: iterates over the servicer's generator.

    There is no task and no queue in between: a message costs two function calls, and cancelling
    the reader cancels the servicer.
    """

    __slots__ = ("_caller", "_context", "_path", "_responses")

    def __init__(
        self, path: str, responses: AsyncGenerator[Message], context: "InProcessContext"
    ) -> None:
        self._path = path
        self._responses = responses
        self._context = context
        # The caller of the call, as between processes, and not that of the reader.
        self._caller = caller()

    def __aiter__(self) -> "InProcessStream":
        return self

    async def __anext__(self) -> Message:
        self._context.attach()
        try:
            with calling_as(self._caller):
                return await anext(self._responses)
        except StopAsyncIteration:
            raise
        except Exception as error:
            raise to_rpc(to_heddle_error(self._path, error)) from error
        except asyncio.CancelledError:
            self._context.raise_if_expired()
            raise
        finally:
            self._context.detach()

    def cancel(self) -> bool:
        """Do nothing: `heddle_runtime.rpc.client` ends this call with `aclose`."""
        return False

    async def aclose(self) -> None:
        """End the servicer's work."""
        self._context.end()
        try:
            with calling_as(self._caller):
                await self._responses.aclose()
        except Exception as error:
            raise to_heddle_error(self._path, error) from error


class InProcessContext:
    """The context that a servicer receives. Cancels the task of the call at its deadline.

    `asyncio.timeout` costs four times as much and covers only a block of one task.
    """

    __slots__ = ("_deadline", "_deadlines", "_expired", "_worker")

    def __init__(self, timeout: float | None, deadlines: Deadlines) -> None:
        self._expired = False
        self._worker = asyncio.current_task()
        self._deadline: float | None = None
        self._deadlines = deadlines
        if timeout is not None:
            self._deadline = time.monotonic() + timeout
            deadlines.add(self, self._deadline)

    def covers(self, timeout: float) -> bool:
        """Return whether the deadline of this call also limits an inner call made now.

        It does if the same task makes the inner call with a timeout of at least the remaining time.
        """
        return (
            self._deadline is not None
            and self._deadline <= time.monotonic() + timeout
            and self._worker is not None
            and self._worker is asyncio.current_task()
        )

    def time_remaining(self) -> float | None:
        """Return the seconds until the deadline, or None without one."""
        if self._deadline is None:
            return None
        left = self._deadline - time.monotonic()
        return max(0.0, left)

    def attach(self) -> None:
        """Make the deadline cancel the current task.

        Raises:
            AioRpcError: The deadline has passed.
        """
        if self._expired:
            raise to_rpc(DeadlineError(_EXPIRED))
        self._worker = asyncio.current_task()

    def raise_if_expired(self) -> None:
        """Convert a cancellation by the deadline into the error of an expired call.

        Raises:
            AioRpcError: Only the deadline cancelled the task.
        """
        if self._expired and self._worker is not None and self._worker.uncancel() == 0:
            raise to_rpc(DeadlineError(_EXPIRED)) from None

    def detach(self) -> None:
        """Do not cancel the current task at the deadline."""
        self._worker = None

    def end(self) -> None:
        """Remove the deadline: the call has ended."""
        self._worker = None
        self._deadlines.discard(self)

    def expire(self) -> None:
        """Cancel the task that works for the call, if there is one."""
        self._expired = True
        if self._worker is not None:
            self._worker.cancel()


def _failing(error: HeddleError) -> Streaming:
    async def refuse(_: Any, __: Any) -> AsyncGenerator[Any]:  # noqa: ANN401 - a handler's signature
        raise error
        yield

    return refuse
