"""Changes that are completed although their caller goes away.

The event of a change is stored after the change. A call that is cancelled in between, for example
because its client closes the connection, would leave a change that the audit log does not have.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import structlog

log = structlog.get_logger(__name__)
ResultT = TypeVar("ResultT")
Parameters = ParamSpec("Parameters")
_PATIENCE_SECONDS = 5.0
_left: set[asyncio.Future[Any]] = set()
"""Changes whose calls have ended. asyncio itself does not hold its tasks."""


def uninterrupted(
    method: Callable[Parameters, Coroutine[Any, Any, ResultT]],
) -> Callable[Parameters, Coroutine[Any, Any, ResultT]]:
    """Return a method that changes something, and that is `completed`."""

    @wraps(method)
    async def whole(*args: Parameters.args, **kwargs: Parameters.kwargs) -> ResultT:
        return await completed(method(*args, **kwargs), _PATIENCE_SECONDS)

    return whole


async def completed(work: Awaitable[ResultT], patience: float | None) -> ResultT:
    """Return the result of `work`, which goes on to its end if the caller is cancelled.

    Args:
        work: The awaitable to complete.
        patience: The seconds that a cancelled caller waits for the end, so that changes under way
            count as calls. None: without a limit.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task], timeout=patience)
        if not task.done():
            log.warning("a change goes on after its call", seconds=patience)
        _left.add(task)
        task.add_done_callback(_end)
        raise


def _end(task: asyncio.Future[Any]) -> None:
    _left.discard(task)
    if not task.cancelled() and (error := task.exception()):
        log.warning("a change failed after its call", error=type(error).__name__)
