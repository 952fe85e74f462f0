"""Changes that are completed although their caller goes away, so that each has its event.

The event of a change is stored after the change. A call that is cancelled in between, for example
because its client closes the connection, would leave a change that the audit log does not have.
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

ResultT = TypeVar("ResultT")
Parameters = ParamSpec("Parameters")


def uninterrupted(
    method: Callable[Parameters, Coroutine[Any, Any, ResultT]],
) -> Callable[Parameters, Coroutine[Any, Any, ResultT]]:
    """Return a method that changes something, and that is `completed`."""

    @wraps(method)
    async def whole(*args: Parameters.args, **kwargs: Parameters.kwargs) -> ResultT:
        return await completed(method(*args, **kwargs))

    return whole


async def completed(work: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Return the result of `work`. If the caller is cancelled, that takes effect after `work`."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.gather(task, return_exceptions=True)  # its error has nobody to be told to
        raise
