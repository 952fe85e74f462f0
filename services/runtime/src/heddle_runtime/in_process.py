"""A channel to services of the same process: the same stubs, servicers and checks, no wire.

Messages are handed over as they are. So the rule that holds for every servicer and caller matters
here: a message that was sent or received is not changed.

What comes from outside is checked once: a call that a servicer makes while it answers another one
is believed, for what it sends was checked with that one or made by our own code.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, cast

from google.protobuf.message import Message

from heddle_runtime.deadlines import Deadlines
from heddle_runtime.errors import (
    DeadlineError,
    HeddleError,
    UnavailableError,
    to_rpc,
)
from heddle_runtime.server_interceptor import Streaming, Unary, check, foreseen

if TYPE_CHECKING:
    import grpc

_LATE = "The time of the call ran out."
_AROUND: ContextVar["InProcessContext | None"] = ContextVar("heddle_local_call", default=None)
"""The call that the current code answers."""
Handlers = Mapping[str, "grpc.RpcMethodHandler[Any, Any]"]


class InProcessChannel:
    """Calls servicers directly. Stands where generated code wants a server, and a channel."""

    def __init__(self) -> None:
        self._unary: dict[str, Unary] = {}
        self._streaming: dict[str, Streaming] = {}
        self._deadlines = Deadlines()

    def add_generic_rpc_handlers(self, handlers: Sequence[Any]) -> None:
        """Ignore what `add_registered_method_handlers` is told as well."""

    def add_registered_method_handlers(self, service: str, handlers: Handlers) -> None:
        """Take the methods of a servicer. Called by generated code."""
        for name, handler in handlers.items():
            path = f"/{service}/{name}"
            if handler.response_streaming:
                self._streaming[path] = cast("Streaming", handler.unary_stream)
            else:
                self._unary[path] = cast("Unary", handler.unary_unary)

    def unary_unary(self, path: str, *_: Any, **__: Any) -> Callable[..., Awaitable[Message]]:  # noqa: ANN401 - a channel's signature
        """Return a callable for the method at `path`. Called by generated code."""

        async def call(request: Message, timeout: float | None = None, **_: Any) -> Message:  # noqa: ANN401, ASYNC109 - a stub's signature
            behavior = self._unary.get(path) or _absent(path)
            around = _AROUND.get()
            if timeout is not None and around is not None and around.covers(timeout):
                try:
                    return await behavior(request, around)  # type: ignore[no-any-return] # handlers are untyped
                except Exception as error:
                    raise to_rpc(foreseen(path, error)) from error
            context = InProcessContext(timeout, self._deadlines)
            token = _AROUND.set(context)
            try:
                if around is None or timeout is None:
                    check(request, limited=timeout is not None)
                return await behavior(request, context)  # type: ignore[no-any-return] # as above
            except Exception as error:
                raise to_rpc(foreseen(path, error)) from error
            except asyncio.CancelledError:
                context.explain()
                raise
            finally:
                _AROUND.reset(token)
                context.end()

        return call

    def unary_stream(self, path: str, *_: Any, **__: Any) -> Callable[..., "InProcessStream"]:  # noqa: ANN401 - a channel's signature
        """Return a callable for the method at `path`. Called by generated code."""

        def call(request: Message, timeout: float | None = None, **_: Any) -> InProcessStream:  # noqa: ANN401 - a stub's signature
            behavior = self._streaming.get(path) or _refusing(_no_service(path))
            context = InProcessContext(timeout, self._deadlines)
            context.calm()  # nobody works for it before it is read
            try:
                if timeout is None or _AROUND.get() is None:
                    check(request, limited=timeout is not None)
            except HeddleError as error:
                behavior = _refusing(error)
            return InProcessStream(path, behavior(request, context), context)

        return call


class InProcessStream:
    """A server-streaming call within the process: pulls the servicer's generator itself.

    No task and no queue stand between the two, so a message costs two function calls and
    cancelling the reader cancels the servicer.
    """

    __slots__ = ("_context", "_path", "_responses")

    def __init__(
        self, path: str, responses: AsyncGenerator[Message], context: "InProcessContext"
    ) -> None:
        self._path = path
        self._responses = responses
        self._context = context

    def __aiter__(self) -> "InProcessStream":
        return self

    async def __anext__(self) -> Message:
        self._context.hurry()
        try:
            return await anext(self._responses)
        except StopAsyncIteration:
            raise
        except Exception as error:
            raise to_rpc(foreseen(self._path, error)) from error
        except asyncio.CancelledError:
            self._context.explain()
            raise
        finally:
            self._context.calm()

    def cancel(self) -> bool:
        """Do nothing: `aclose` is what ends this call, and `heddle_runtime.client` uses it."""
        return False

    async def aclose(self) -> None:
        """End the servicer's work."""
        self._context.end()
        try:
            await self._responses.aclose()
        except Exception as error:
            raise foreseen(self._path, error) from error


class InProcessContext:
    """A call's deadline: what a servicer sees, and what cancels who works for the call.

    `asyncio.timeout` does this too, at four times the cost, and only for a block of one task.
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
        """Return whether this call's deadline serves for one that is made now as well.

        It does for a call of the same task that may take all the time that is left, or more.
        """
        return (
            self._deadline is not None
            and self._deadline <= time.monotonic() + timeout
            and self._worker is not None
            and self._worker is asyncio.current_task()
        )

    def time_remaining(self) -> float | None:
        """Return the seconds that are left."""
        if self._deadline is None:
            return None
        left = self._deadline - time.monotonic()
        return max(0.0, left)

    def hurry(self) -> None:
        """Let the deadline cancel the current task from now on.

        Raises:
            AioRpcError: It has passed.
        """
        if self._expired:
            raise to_rpc(DeadlineError(_LATE))
        self._worker = asyncio.current_task()

    def explain(self) -> None:
        """Tell a cancellation by the deadline from one by somebody else.

        Raises:
            AioRpcError: It was the deadline, and nobody else at the same time.
        """
        if self._expired and self._worker is not None and self._worker.uncancel() == 0:
            raise to_rpc(DeadlineError(_LATE)) from None

    def calm(self) -> None:
        """Leave the task alone."""
        self._worker = None

    def end(self) -> None:
        """Leave the task alone for ever."""
        self._worker = None
        self._deadlines.discard(self)

    def expire(self) -> None:
        """Cancel who works for the call, if somebody does."""
        self._expired = True
        if self._worker is not None:
            self._worker.cancel()


def _no_service(path: str) -> HeddleError:
    return UnavailableError(f"No service of this process offers {path}.")


def _absent(path: str) -> Unary:
    async def refuse(_: Any, __: Any) -> Any:  # noqa: ANN401 - a handler's signature
        raise _no_service(path)

    return refuse


def _refusing(error: HeddleError) -> Streaming:
    async def refuse(_: Any, __: Any) -> AsyncGenerator[Any]:  # noqa: ANN401 - a handler's signature
        raise error
        yield

    return refuse
