"""Tasks that run beside a block of code, and end with it."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager


@asynccontextmanager
async def in_background(work: Coroutine[None, None, None]) -> AsyncGenerator[None]:
    """Run `work` in a task until the block ends, which cancels it and waits for its end.

    An error of `work` is lost: it catches and logs its own.
    """
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
