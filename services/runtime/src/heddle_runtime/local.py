"""A channel to services of the same process: the same stubs, servicers and checks, no wire.

Messages are handed over as they are. So the rule that holds for every servicer and caller matters
here: a message that was sent or received is not changed.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from google.protobuf.message import Message

from heddle_runtime.boundary import Streaming, Unary, guarded_streaming, guarded_unary
from heddle_runtime.errors import (
    DeadlineError,
    HeddleError,
    UnavailableError,
    to_rpc,
)

if TYPE_CHECKING:
    import grpc

_LATE = "The time of the call ran out."
Handlers = Mapping[str, "grpc.RpcMethodHandler[Any, Any]"]


class LocalContext:
    """What a servicer sees of a call from its own process."""

    __slots__ = ("_deadline",)

    def __init__(self, deadline: float | None) -> None:
        self._deadline = deadline

    def time_remaining(self) -> float | None:
        """Return the seconds that are left."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())


class LocalChannel:
    """Calls servicers directly. Stands where generated code wants a server, and a channel."""

    def __init__(self) -> None:
        self._unary: dict[str, Unary] = {}
        self._streaming: dict[str, Streaming] = {}

    def add_generic_rpc_handlers(self, handlers: Sequence[Any]) -> None:
        """Ignore what `add_registered_method_handlers` is told as well."""

    def add_registered_method_handlers(self, service: str, handlers: Handlers) -> None:
        """Take the methods of a servicer. Called by generated code."""
        for name, handler in handlers.items():
            path = f"/{service}/{name}"
            if handler.response_streaming:
                self._streaming[path] = guarded_streaming(path, handler.unary_stream, local=True)
            else:
                self._unary[path] = guarded_unary(path, handler.unary_unary, local=True)

    def unary_unary(self, path: str, *_: Any, **__: Any) -> Callable[..., Awaitable[Message]]:  # noqa: ANN401 - a channel's signature
        """Return a callable for the method at `path`. Called by generated code."""

        async def call(request: Message, timeout: float | None = None, **_: Any) -> Message:  # noqa: ANN401, ASYNC109 - a stub's signature
            behavior = self._unary.get(path)
            end = _End(timeout)
            try:
                if behavior is None:
                    raise _absent(path)
                end.hurry()
                return await behavior(request, LocalContext(_deadline(timeout)))  # type: ignore[no-any-return] # handlers are untyped
            except HeddleError as error:
                raise to_rpc(error) from error
            except asyncio.CancelledError:
                end.explain()
                raise
            finally:
                end.calm()
                end.cancel()

        return call

    def unary_stream(self, path: str, *_: Any, **__: Any) -> Callable[..., "LocalStream"]:  # noqa: ANN401 - a channel's signature
        """Return a callable for the method at `path`. Called by generated code."""

        def call(request: Message, timeout: float | None = None, **_: Any) -> LocalStream:  # noqa: ANN401 - a stub's signature
            behavior = self._streaming.get(path) or _refuse(path)
            return LocalStream(behavior(request, LocalContext(_deadline(timeout))), timeout)

        return call


class LocalStream:
    """A server-streaming call within the process: pulls the servicer's generator itself.

    No task and no queue stand between the two, so a message costs two function calls and
    cancelling the reader cancels the servicer.
    """

    __slots__ = ("_end", "_responses")

    def __init__(self, responses: AsyncGenerator[Message], timeout: float | None) -> None:
        self._responses = responses
        self._end = _End(timeout)

    def __aiter__(self) -> "LocalStream":
        return self

    async def __anext__(self) -> Message:
        self._end.hurry()
        try:
            return await anext(self._responses)
        except HeddleError as error:
            raise to_rpc(error) from error
        except asyncio.CancelledError:
            self._end.explain()
            raise
        finally:
            self._end.calm()

    def cancel(self) -> bool:
        """Do nothing: `aclose` is what ends this call, and `heddle_runtime.client` uses it."""
        return False

    async def aclose(self) -> None:
        """End the servicer's work."""
        self._end.cancel()
        await self._responses.aclose()


class _End:
    """The deadline of a call: one timer, which cancels whoever works for the call then.

    `asyncio.timeout` does this too, at four times the cost, and only for a block of one task.
    """

    __slots__ = ("_expired", "_timer", "_worker")

    def __init__(self, timeout: float | None) -> None:
        self._expired = False
        self._worker: asyncio.Task[Any] | None = None
        self._timer = (
            None
            if timeout is None
            else asyncio.get_running_loop().call_later(timeout, self._expire)
        )

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

    def cancel(self) -> None:
        """Forget the deadline."""
        if self._timer is not None:
            self._timer.cancel()

    def _expire(self) -> None:
        self._expired = True
        if self._worker is not None:
            self._worker.cancel()


def _deadline(timeout: float | None) -> float | None:
    return None if timeout is None else time.monotonic() + timeout


def _absent(path: str) -> HeddleError:
    return UnavailableError(f"No service of this process offers {path}.")


def _refuse(path: str) -> Streaming:
    async def refuse(_: Any, __: Any) -> AsyncGenerator[Any]:  # noqa: ANN401 - a handler's signature
        raise _absent(path)
        yield

    return refuse
