"""Awaits the callbacks of tools: `available`, `offer` and `trigger`."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

ResultT = TypeVar("ResultT")


async def result_of(callback: Awaitable[ResultT], seconds: float) -> ResultT:
    """Return the result of a callback, which an author of a tool has written.

    Args:
        callback: The awaitable of a called callback.
        seconds: Limits its time.

    Raises:
        TimeoutError: It takes longer.
        RuntimeError: It calls `sys.exit` or cancels itself.
        Exception: Any exception of the callback.
    """
    task = asyncio.current_task()
    try:
        async with asyncio.timeout(seconds):
            return await callback
    except SystemExit as error:
        raise RuntimeError("the tool called sys.exit") from error
    except asyncio.CancelledError as error:
        if task is None or task.cancelling():  # the call was cancelled
            raise
        raise RuntimeError("the tool cancelled itself") from error
