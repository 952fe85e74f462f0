"""Plain gRPC calls, which a channel ends when their server hangs."""

import asyncio
from collections.abc import Awaitable
from typing import Any, Self

import grpc

from heddle_runtime.errors import UnavailableError, to_rpc

HANGS = "Another service does not respond. Try again later."


async def response_of(call: Awaitable[Any]) -> Any:  # noqa: ANN401 - the method's own response
    """Return the response of a unary call.

    Raises:
        AioRpcError: `UNAVAILABLE` if the channel closed the connection; or as the call itself.
    """
    try:
        return await call
    except asyncio.CancelledError:
        if _is_cancelled():
            raise
        raise to_rpc(UnavailableError(HANGS)) from None


class PlainStream:
    """The responses of a call, with `UNAVAILABLE` at the end if the connection is closed."""

    __slots__ = ("_call", "_cancelled", "_responses")

    def __init__(self, call: Any) -> None:  # noqa: ANN401 - grpc's own
        self._call = call
        self._responses = aiter(call)
        self._cancelled = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:  # noqa: ANN401 - the method's own response
        try:
            return await anext(self._responses)
        except asyncio.CancelledError:
            if self._cancelled or _is_cancelled():
                raise
            raise to_rpc(UnavailableError(HANGS)) from None

    def cancel(self) -> bool:
        """Cancel the call at the server. Return whether it was open."""
        self._cancelled = True
        return bool(self._call.cancel())


class RefusedStream:
    """A call that was not made because its servers hang. Reading from it raises `UNAVAILABLE`."""

    __slots__ = ("_error",)

    def __init__(self, error: grpc.aio.AioRpcError) -> None:
        self._error = error

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:  # noqa: ANN401 - as above
        raise self._error

    def cancel(self) -> bool:
        """Return False: no call is open at the server."""
        return False


def _is_cancelled() -> bool:
    """Return whether the running task is cancelled, and not only the call that it waits for."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0
